-- The team's store in PostgreSQL 13 or later: one log of operations in one total order, and the lease of each integrator ID.
-- The database never looks inside an operation. Members call functions; they own no right to a table.

CREATE SCHEMA hoptop;

-- `id` tells this log from every other; `salt` goes into the keys of the leases. `format` is the newest format of operations
-- in the log, and `oldest_writer` the oldest format that may still be appended.
CREATE TABLE hoptop.team (
    id            uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    salt          uuid NOT NULL DEFAULT gen_random_uuid(),
    schema        int NOT NULL,
    format        int NOT NULL,
    oldest_writer int NOT NULL
);

-- The newest entry. Every append locks this row first, so that the numbers have no gaps and are in the order of the commits.
CREATE TABLE hoptop.head (
    one   boolean PRIMARY KEY DEFAULT true CHECK (one),
    seq   bigint NOT NULL,
    nonce uuid NOT NULL
) WITH (fillfactor = 10);

CREATE TABLE hoptop.log (
    seq        bigint PRIMARY KEY,
    nonce      uuid NOT NULL UNIQUE,
    at         timestamptz NOT NULL,
    author     text NOT NULL,
    operations bytea NOT NULL
);
-- The operations are compressed already.
ALTER TABLE hoptop.log ALTER COLUMN operations SET STORAGE EXTERNAL;

-- Who may poll for an ID. `budget` is a keyed hash of the base URL and the ID; `released_on` is the server's start time at which
-- the last holder gave the lease back, and `pace` what the next holder inherits, in durations.
CREATE TABLE hoptop.lease (
    budget      text PRIMARY KEY,
    holder      uuid,
    epoch       bigint NOT NULL,
    beat        bigint NOT NULL,
    released_on bigint,
    pace        text
);

-- `version` is that of the hoptop that made the snapshot, and `schema` that of its tables, which an older hoptop can't read.
-- `operations` counts the operations of the log up to the snapshot.
CREATE TABLE hoptop.snapshot (
    id         uuid PRIMARY KEY,
    seq        bigint NOT NULL,
    nonce      uuid NOT NULL,
    version    text NOT NULL,
    schema     int NOT NULL,
    operations bigint NOT NULL,
    at         timestamptz NOT NULL DEFAULT now(),
    parts      int NOT NULL,
    bytes      bigint NOT NULL
);

-- The parts of a snapshot are there before the snapshot.
CREATE TABLE hoptop.snapshot_part (
    snapshot uuid NOT NULL,
    part     int NOT NULL,
    at       timestamptz NOT NULL DEFAULT now(),
    bytes    bytea NOT NULL,
    PRIMARY KEY (snapshot, part)
);
ALTER TABLE hoptop.snapshot_part ALTER COLUMN bytes SET STORAGE EXTERNAL;

CREATE TABLE hoptop.member (
    id        uuid PRIMARY KEY,
    author    text NOT NULL,
    host      text NOT NULL,
    version   text NOT NULL,
    polls     text NOT NULL,
    rank      int NOT NULL,
    applied   bigint NOT NULL,
    last_seen timestamptz NOT NULL,
    role      text NOT NULL
);

INSERT INTO hoptop.team (schema, format, oldest_writer) VALUES (1, 1, 1);
INSERT INTO hoptop.head (seq, nonce) VALUES (0, '00000000-0000-0000-0000-000000000000');

-- When this server started, in microseconds: another value means that the newest writes may be lost.
CREATE FUNCTION hoptop.server() RETURNS bigint LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT (extract(epoch FROM pg_postmaster_start_time()) * 1000000)::bigint
$$;

-- What a process reads when it connects.
CREATE FUNCTION hoptop.connection_info(OUT team uuid, OUT salt uuid, OUT schema int, OUT format int, OUT oldest_writer int,
                             OUT author text, OUT polls boolean, OUT appends boolean, OUT in_recovery boolean)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT id, salt, schema, format, oldest_writer, session_user::text, pg_has_role(session_user, 'hoptop_poller', 'member'),
           pg_has_role(session_user, 'hoptop_member', 'member'), pg_is_in_recovery()
    FROM hoptop.team
$$;

-- Where the log begins and ends, and which nonce stands at a position.
CREATE FUNCTION hoptop.position(p_seq bigint, OUT seq bigint, OUT nonce uuid, OUT nonce_at uuid, OUT first bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT head.seq, head.nonce,
           CASE WHEN p_seq = head.seq THEN head.nonce ELSE (SELECT log.nonce FROM hoptop.log WHERE log.seq = p_seq) END,
           (SELECT min(log.seq) FROM hoptop.log)
    FROM hoptop.head
$$;

-- The entries after a position, about p_bytes of them and at least one.
CREATE FUNCTION hoptop.read(p_after bigint, p_bytes bigint)
RETURNS TABLE (seq bigint, nonce uuid, author text, operations bytea)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT page.seq, page.nonce, page.author, log.operations
    FROM (SELECT log.seq, log.nonce, log.author, sum(octet_length(log.operations)) OVER (ORDER BY log.seq) AS size
          FROM (SELECT * FROM hoptop.log WHERE log.seq > p_after ORDER BY log.seq LIMIT 2000) AS log) AS page
    JOIN hoptop.log USING (seq)
    WHERE page.size <= p_bytes OR page.seq = p_after + 1
    ORDER BY page.seq
$$;

-- The number of the entry with a nonce; NULL if it isn't in the log.
CREATE FUNCTION hoptop.find(p_nonce uuid) RETURNS bigint
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT seq FROM hoptop.log WHERE nonce = p_nonce
$$;

-- Appends an entry and returns its number. A poller's entry names its lease (p_budget, p_holder, p_epoch), and is refused with
-- the state HT001 if the lease is another's by now. A repeated nonce returns the number that the entry has.
CREATE FUNCTION hoptop.append(p_nonce uuid, p_format int, p_operations bytea, p_budget text, p_holder uuid, p_epoch bigint)
RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    number bigint;
BEGIN
    -- Each statement must see what was committed while the one before it waited.
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'appending needs the isolation level read committed' USING ERRCODE = 'HT002';
    END IF;
    IF current_setting('synchronous_commit') = 'off' THEN
        PERFORM set_config('synchronous_commit', 'on', true);
    END IF;
    PERFORM 1 FROM hoptop.head FOR UPDATE;
    SELECT seq INTO number FROM hoptop.log WHERE nonce = p_nonce;
    IF FOUND THEN
        RETURN number;
    END IF;
    IF NOT EXISTS (SELECT FROM hoptop.team WHERE p_format >= oldest_writer) THEN
        RAISE EXCEPTION 'this format of operations is no longer appended' USING ERRCODE = 'HT003';
    END IF;
    IF p_epoch IS NOT NULL AND NOT (
        pg_has_role(session_user, 'hoptop_poller', 'member')
        AND EXISTS (SELECT FROM hoptop.lease WHERE budget = p_budget AND holder = p_holder AND epoch = p_epoch)
    ) THEN
        RAISE EXCEPTION 'another machine polls by now' USING ERRCODE = 'HT001';
    END IF;
    UPDATE hoptop.team SET format = p_format WHERE format < p_format;
    UPDATE hoptop.head SET seq = head.seq + 1, nonce = p_nonce RETURNING head.seq INTO number;
    INSERT INTO hoptop.log VALUES (number, p_nonce, clock_timestamp(), session_user, p_operations);
    PERFORM pg_notify('hoptop_log', number::text);
    RETURN number;
END
$$;

-- Reads, takes, beats or releases the lease of an ID, as p_request says; each in one transaction.
CREATE FUNCTION hoptop.lease(p_request text, p_budget text, p_holder uuid, p_epoch bigint, p_beat bigint, p_server bigint,
                             p_pace text, OUT is_granted boolean, OUT epoch bigint, OUT holder uuid, OUT beat bigint,
                             OUT released_on bigint, OUT pace text, OUT server bigint, OUT in_recovery boolean)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
    is_granted := p_request = 'read';
    IF p_request <> 'read' THEN
        IF NOT pg_has_role(session_user, 'hoptop_poller', 'member') THEN
            RAISE EXCEPTION 'permission denied: only members of hoptop_poller poll' USING ERRCODE = '42501';
        END IF;
        IF current_setting('transaction_isolation') <> 'read committed' THEN
            RAISE EXCEPTION 'a lease needs the isolation level read committed' USING ERRCODE = 'HT002';
        END IF;
        IF current_setting('synchronous_commit') = 'off' THEN
            PERFORM set_config('synchronous_commit', 'on', true);
        END IF;
    END IF;
    IF p_request = 'take' THEN
        -- An append of the former holder is over before the lease moves, and sees it moved afterwards.
        PERFORM 1 FROM hoptop.head FOR UPDATE;
        IF p_epoch = 0 AND p_server = hoptop.server() THEN
            INSERT INTO hoptop.lease (budget, epoch, beat) VALUES (p_budget, 0, 0) ON CONFLICT DO NOTHING;
        END IF;
        UPDATE hoptop.lease SET holder = p_holder, epoch = lease.epoch + 1, beat = 0, released_on = NULL
        WHERE budget = p_budget AND lease.epoch = p_epoch AND lease.beat = p_beat AND p_server = hoptop.server();
        is_granted := FOUND;
        PERFORM pg_notify('hoptop_members', '');
    ELSIF p_request = 'beat' THEN
        UPDATE hoptop.lease SET beat = lease.beat + 1, pace = coalesce(p_pace, lease.pace)
        WHERE budget = p_budget AND lease.epoch = p_epoch AND lease.holder = p_holder;
        is_granted := FOUND;
    ELSIF p_request = 'release' THEN
        UPDATE hoptop.lease SET holder = NULL, released_on = p_server, pace = coalesce(p_pace, lease.pace)
        WHERE budget = p_budget AND lease.epoch = p_epoch AND lease.holder = p_holder;
        is_granted := FOUND;
        PERFORM pg_notify('hoptop_lease', '');
    END IF;
    server := hoptop.server();
    in_recovery := pg_is_in_recovery();
    SELECT lease.epoch, lease.holder, lease.beat, lease.released_on, lease.pace
    INTO epoch, holder, beat, released_on, pace FROM hoptop.lease WHERE budget = p_budget;
    IF NOT FOUND THEN
        epoch := 0;
        beat := 0;
    END IF;
END
$$;

-- Renews the membership of a process, which stays its role's. Only a role that may poll is taken for a candidate.
CREATE FUNCTION hoptop.present(p_id uuid, p_given text, p_host text, p_version text, p_polls text, p_rank int, p_applied bigint)
RETURNS void LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT pg_notify('hoptop_members', '') WHERE NOT EXISTS (SELECT FROM hoptop.member WHERE id = p_id);
    INSERT INTO hoptop.member
    VALUES (p_id, CASE WHEN p_given = '' OR p_given = session_user THEN session_user
                       ELSE p_given || ' via ' || session_user END,
            p_host, p_version, CASE WHEN pg_has_role(session_user, 'hoptop_poller', 'member') THEN p_polls ELSE '' END,
            p_rank, p_applied, now(), session_user)
    ON CONFLICT (id) DO UPDATE
    SET applied = excluded.applied, polls = excluded.polls, last_seen = excluded.last_seen
    WHERE member.role = excluded.role
$$;

CREATE FUNCTION hoptop.leave(p_id uuid) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT pg_notify('hoptop_members', '');
    DELETE FROM hoptop.member WHERE id = p_id AND role = session_user OR last_seen < now() - interval '1 day'
$$;

-- The processes that were there within the last 75 s, each with the epoch of the lease that it holds.
CREATE FUNCTION hoptop.members()
RETURNS TABLE (id uuid, author text, host text, version text, polls text, rank int, applied bigint,
               last_seen timestamptz, epoch bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT id, author, host, version, polls, rank, applied, last_seen,
           (SELECT max(lease.epoch) FROM hoptop.lease WHERE holder = member.id)
    FROM hoptop.member WHERE last_seen > now() - interval '75 seconds' ORDER BY author, host, id
$$;

-- The size of the log and the snapshots, for `hoptop store status`.
CREATE FUNCTION hoptop.sizes(OUT entries bigint, OUT log_bytes bigint, OUT snapshot_bytes bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT (SELECT count(*) FROM hoptop.log), pg_total_relation_size('hoptop.log'),
           pg_total_relation_size('hoptop.snapshot_part')
$$;

CREATE FUNCTION hoptop.snapshots()
RETURNS TABLE (id uuid, seq bigint, nonce uuid, version text, schema int, operations bigint, at timestamptz, parts int,
               bytes bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT id, seq, nonce, version, schema, operations, at, parts, bytes FROM hoptop.snapshot ORDER BY seq DESC
$$;

CREATE FUNCTION hoptop.snapshot_part(p_snapshot uuid, p_part int) RETURNS bytea
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT bytes FROM hoptop.snapshot_part WHERE snapshot = p_snapshot AND part = p_part
$$;

CREATE FUNCTION hoptop.put_snapshot_part(p_snapshot uuid, p_part int, p_bytes bytea) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    INSERT INTO hoptop.snapshot_part (snapshot, part, bytes) VALUES (p_snapshot, p_part, p_bytes)
    ON CONFLICT (snapshot, part) DO UPDATE SET bytes = excluded.bytes
$$;

-- Ends a snapshot. The last two stay, or this one alone, and the log behind the older one goes. Refused if the log has another
-- entry at its position. The parts of snapshots that go are removed at once: they may hold what was deleted. Parts that belong
-- to no snapshot are removed after an hour: somebody may still be writing them.
CREATE FUNCTION hoptop.end_snapshot(p_snapshot uuid, p_seq bigint, p_nonce uuid, p_version text, p_schema int,
                                    p_operations bigint, p_parts int, p_bytes bigint, p_keeps_previous boolean)
RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    kept int := CASE WHEN p_keeps_previous THEN 2 ELSE 1 END;
    oldest bigint;
BEGIN
    IF NOT EXISTS (SELECT FROM hoptop.log WHERE seq = p_seq AND nonce = p_nonce)
       OR p_parts <> (SELECT count(*) FROM hoptop.snapshot_part WHERE snapshot = p_snapshot) THEN
        DELETE FROM hoptop.snapshot_part WHERE snapshot = p_snapshot;
        RETURN false;
    END IF;
    INSERT INTO hoptop.snapshot (id, seq, nonce, version, schema, operations, parts, bytes)
    VALUES (p_snapshot, p_seq, p_nonce, p_version, p_schema, p_operations, p_parts, p_bytes);
    WITH removed AS (
        DELETE FROM hoptop.snapshot
        WHERE id NOT IN (SELECT id FROM hoptop.snapshot ORDER BY seq DESC, at DESC LIMIT kept) RETURNING id
    )
    DELETE FROM hoptop.snapshot_part USING removed WHERE snapshot = removed.id;
    DELETE FROM hoptop.snapshot_part
    WHERE snapshot NOT IN (SELECT id FROM hoptop.snapshot) AND at < now() - interval '1 hour';
    SELECT min(seq) INTO oldest FROM hoptop.snapshot HAVING count(*) = kept;
    DELETE FROM hoptop.log WHERE seq < oldest;
    RETURN true;
END
$$;

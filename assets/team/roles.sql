-- The roles of a team's store. A database role becomes a member of one of them: GRANT hoptop_member TO ann.

DO $$
DECLARE
    role text;
BEGIN
    FOREACH role IN ARRAY ARRAY['hoptop_viewer', 'hoptop_member', 'hoptop_poller'] LOOP
        IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = role) THEN
            EXECUTE format('CREATE ROLE %I NOLOGIN', role);
        END IF;
    END LOOP;
END
$$;
GRANT hoptop_viewer TO hoptop_member;
GRANT hoptop_member TO hoptop_poller;

REVOKE ALL ON SCHEMA hoptop FROM PUBLIC;
REVOKE ALL ON ALL TABLES IN SCHEMA hoptop FROM PUBLIC;
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA hoptop FROM PUBLIC;
GRANT USAGE ON SCHEMA hoptop TO hoptop_viewer;
GRANT EXECUTE ON FUNCTION hoptop.connection_info, hoptop.position, hoptop.read, hoptop.find, hoptop.present, hoptop.leave, hoptop.members,
    hoptop.sizes, hoptop.snapshots, hoptop.snapshot_part, hoptop.server TO hoptop_viewer;
GRANT EXECUTE ON FUNCTION hoptop.append TO hoptop_member;
GRANT EXECUTE ON FUNCTION hoptop.lease, hoptop.put_snapshot_part, hoptop.end_snapshot TO hoptop_poller;

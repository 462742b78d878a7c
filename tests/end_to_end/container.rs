//! The recipe of the container image: its command runs as its user and with its settings, beside nothing but the C
//! library.
//!
//! The image itself needs a registry for its bases. A root folder with what they hold for the program takes their place.

use std::{
    fs,
    os::unix::fs::{MetadataExt, PermissionsExt, chown},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use super::{
    SUCCESS,
    common::{Home, ID, ProcessOutput, ProgramProcess, ScenarioBatch, SimulatorProcess, get_metrics},
};

const PROGRAM: &str = env!("CARGO_BIN_EXE_hoptop");
const NOBODY: u32 = 65_534;
/// The libraries of `distroless/cc` that a program may need.
const LIBRARIES: [&str; 7] =
    ["libc.so.6", "libdl.so.2", "libgcc_s.so.1", "libm.so.6", "libpthread.so.0", "librt.so.1", "libstdc++.so.6"];

/// Returns the value of an instruction in the last stage of the recipe.
fn instruction(name: &str) -> &'static str {
    let (_, last_stage) = include_str!("../../assets/container/Containerfile").rsplit_once("\nFROM ").unwrap();
    last_stage.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')).unwrap()
}

/// Returns the libraries that the program needs, and the dynamic linker.
fn libraries() -> Vec<PathBuf> {
    let listed = ProcessOutput::new(Command::new("ldd").arg(PROGRAM).output().unwrap()).out;
    listed.split_whitespace().filter(|word| word.starts_with('/')).map(PathBuf::from).collect()
}

/// Creates a root folder with the program, its libraries, and the folder of its store.
fn create_root(root: &Path) {
    let copy = |from: &Path, to: &str| {
        let to = root.join(to.trim_start_matches('/'));
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::copy(from, to).unwrap();
    };
    copy(Path::new(PROGRAM), "usr/bin/hoptop");
    for library in libraries() {
        let name = library.file_name().unwrap().to_str().unwrap();
        assert!(LIBRARIES.contains(&name) || name.starts_with("ld-"), "the base of the image lacks {name}");
        copy(&library, library.to_str().unwrap());
    }
    let store = root.join(instruction("VOLUME").trim_start_matches('/'));
    fs::create_dir_all(&store).unwrap();
    chown(&store, Some(NOBODY), Some(NOBODY)).unwrap();
    fs::create_dir(root.join("tmp")).unwrap();
    fs::set_permissions(root.join("tmp"), fs::Permissions::from_mode(0o1777)).unwrap();
    for folder in [root.to_owned(), root.join("usr"), root.join("usr/bin")] {
        fs::set_permissions(folder, fs::Permissions::from_mode(0o755)).unwrap();
    }
}

#[test]
fn command_of_the_container_image_runs_as_nobody_beside_the_c_library_alone() {
    let home = Home::new();
    let root = home.path().join("root");
    fs::create_dir_all(root.join("dev")).unwrap();
    let null = Command::new("mknod").args(["-m", "666"]).arg(root.join("dev/null")).args(["c", "1", "3"]).output();
    if !null.is_ok_and(|ended| ended.status.success()) {
        println!("skipped: only root may create a device and change the root folder");
        return;
    }
    create_root(&root);
    fs::set_permissions(home.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let batch = ScenarioBatch::repeat(3, SUCCESS);
    let simulation = SimulatorProcess::start(&batch.scenario);
    fs::write(root.join("tmp/batch.csv"), &batch.csv).unwrap();
    let parse = |list: &str| serde_json::from_str::<Vec<String>>(list).unwrap();
    let run = |words: &[String]| {
        let mut command = Command::new("chroot");
        command.arg(format!("--userspec={}", instruction("USER"))).arg(&root).args(parse(instruction("ENTRYPOINT")));
        command.args(words).env_clear().env("PATH", std::env::var_os("PATH").unwrap());
        command.env("HOPTOP_BASE_URL", &simulation.url).env("HOPTOP_RPS", "10").env("HOPTOP_INTEGRATOR_ID", ID);
        command.envs(instruction("ENV").split(' ').map(|variable| variable.split_once('=').unwrap()));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    };
    let import = run(&["import", "/tmp/batch.csv"].map(str::to_owned)).output().unwrap();
    ProcessOutput::new(import).assert_exit(0, &[]);
    // A free port, because tests run side by side.
    let words = parse(instruction("CMD")).into_iter().map(|word| word.replace("9464", "0"));
    let mut watch = ProgramProcess::start(run(&words.collect::<Vec<_>>()));
    let address = watch.read_metrics_address();
    assert!(get_metrics(&address.replace("0.0.0.0", "127.0.0.1")).contains("hoptop_build_info"));
    watch.signal("TERM");
    let ended = watch.end();
    assert_eq!(ended.code, Some(143), "{ended:?}");
    let store = fs::metadata(root.join("var/lib/hoptop/hoptop.db")).unwrap();
    assert_eq!((store.uid(), store.mode() & 0o077), (NOBODY, 0));
}

//! Writers, readers and collectors that are killed at random: no reader ever sees a torn or wrong file, and no litter stays.
//!
//! The test starts itself again as each of the processes. It runs for two seconds with `cargo test`, and as long as one likes with
//! `cargo xtask soak-store SECONDS`.

mod common;

use foldsym_format::header::VERSION;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use common::{age, files, id, stamped};
use foldsym_store::{DebugId, EntryInfo, GcOptions, LocalStore, ModuleId, Published, StoreError};

/// Files that the processes publish, read and remove.
const FILES: u32 = 40;
const WRITERS: usize = 8;
const READERS: usize = 8;
const ROOT: &str = "FOLDSYM_SOAK_STORE";
const ROLE: &str = "FOLDSYM_SOAK_ROLE";
const SEED: &str = "FOLDSYM_SOAK_SEED";
const SECONDS: &str = "FOLDSYM_SOAK_SECONDS";

/// Numbers that look random, from a seed (xorshift64*).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) % bound
    }
}

/// A process that ends with the test, also where that fails.
struct Worker(Child);

impl Worker {
    /// A process that ended by itself found something wrong, and said so.
    fn kill(&mut self) {
        assert_eq!(self.0.try_wait().unwrap(), None, "a process ended by itself");
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn processes_killed_at_random_leave_the_store_whole() {
    if let Ok(role) = std::env::var(ROLE) {
        work(&role);
    }
    let seconds = std::env::var(SECONDS).map_or(2, |text| text.parse().expect("a number of seconds"));
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("symbols");
    let mut random = Random(0x5eed);
    let mut roles = vec!["collect"];
    roles.extend([["write"; WRITERS], ["read"; READERS]].concat());
    let mut workers: Vec<Worker> = roles.iter().map(|role| start(role, &root, &mut random)).collect();
    let end = Instant::now() + Duration::from_secs(seconds);
    let mut killed = 0u32;
    while Instant::now() < end {
        std::thread::sleep(Duration::from_millis(random.below(20)));
        let chosen = random.below(workers.len() as u64) as usize;
        workers[chosen].kill();
        workers[chosen] = start(roles[chosen], &root, &mut random);
        killed += 1;
    }
    workers.iter_mut().for_each(Worker::kill);
    drop(workers);
    let store = LocalStore::create(&root).unwrap();
    let checked = store.check().unwrap();
    assert!(checked.problems.is_empty(), "{:?}", checked.problems);
    // A day later nothing of the killed processes is left, and what was published is there.
    let left = files(&root);
    let litter = left.iter().filter(|path| path.starts_with("tmp/") && *path != "tmp/swept").count();
    for path in &left {
        age(&root.join(path), 90_000);
    }
    store.gc(&GcOptions::default()).unwrap();
    let mut expected = vec!["format".to_owned(), "tmp/swept".to_owned()];
    for listed in store.list().unwrap() {
        let key = listed.id.to_string();
        expected.extend(
            ["fsym", "json"].map(|ending| format!("{}/{}/v{VERSION}.{ending}", &key[..2], &key[2..])),
        );
        expected.push(format!("name/app/{key}"));
        let key = DebugId::of_elf(&listed.id, false).to_string().to_lowercase();
        expected.push(format!("debugid/{}/{}", &key[..2], &key[2..]));
    }
    expected.sort();
    assert_eq!(files(&root), expected);
    println!(
        "{killed} processes killed in {seconds} s; {} files published, {litter} left in tmp/",
        checked.files
    );
}

fn start(role: &str, root: &Path, random: &mut Random) -> Worker {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "processes_killed_at_random_leave_the_store_whole", "--nocapture"]);
    command.env(ROLE, role).env(ROOT, root).env(SEED, random.below(u64::MAX).to_string());
    Worker(command.stdout(Stdio::null()).spawn().unwrap())
}

/// Does the same until it is killed. Anything wrong ends the process with a message.
fn work(role: &str) -> ! {
    let root = std::env::var_os(ROOT).unwrap();
    let seed: u64 = std::env::var(SEED).unwrap().parse().unwrap();
    let mut random = Random(seed | 1);
    let store = LocalStore::create(Path::new(&root)).unwrap();
    loop {
        let number = random.below(FILES.into()) as u32;
        match role {
            "write" => write(&store, number),
            "read" => read(&store, number, random.below(2) == 0),
            _ => collect(&store, number, &mut random),
        }
    }
}

fn write(store: &LocalStore, number: u32) {
    let bytes = stamped(id(number).as_bytes());
    let mut info = EntryInfo::default();
    info.name = Some("app".to_owned());
    let published = store.publish(&info, |path| {
        // In pieces, so that a kill leaves a part.
        let mut file =
            std::fs::File::options().write(true).open(path).map_err(|error| failed(path, error))?;
        for piece in bytes.chunks(500) {
            std::io::Write::write_all(&mut file, piece).map_err(|error| failed(path, error))?;
        }
        Ok::<(), StoreError>(())
    });
    match published {
        Ok(Published::New(_) | Published::Existing(_)) => {}
        other => panic!("writer: {other:?}"),
    }
}

fn failed(path: &Path, error: std::io::Error) -> StoreError {
    StoreError::Io { path: path.to_owned(), doing: "write", error }
}

fn read(store: &LocalStore, number: u32, by_debug_id: bool) {
    let id = id(number);
    let module = match by_debug_id {
        true => ModuleId::from(DebugId::of_elf(&id, false)),
        false => ModuleId::from(id.clone()),
    };
    if let Some(map) = store.get_module(&module).unwrap_or_else(|error| panic!("reader: {error}")) {
        assert!(map.bytes() == stamped(id.as_bytes()), "reader: {} is torn", map.path().display());
    }
}

fn collect(store: &LocalStore, number: u32, random: &mut Random) {
    store.remove(&id(number)).unwrap_or_else(|error| panic!("collector: {error}"));
    let mut options = GcOptions::default();
    options.max_bytes = Some(4232 * random.below(u64::from(FILES) * 2));
    store.gc(&options).unwrap_or_else(|error| panic!("collector: {error}"));
    std::thread::sleep(Duration::from_millis(random.below(30)));
}

//! Commands that try to get out. Each probe is a shell line that succeeds when its act succeeds; without a wall
//! it does, so a refusal is the wall's. `$O` is a folder outside, `$V` a process outside, `$P` the binary of acts.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by them")]

mod ground;

use ground::{Ground, Mode, picture};
use sandbox::{Level, Wall};

/// Whether the act succeeds in read-only, in workspace-write, and in that with the network on.
type Allowed = [bool; 3];
const NEVER: Allowed = [false; 3];
const ALWAYS: Allowed = [true; 3];
const WRITING: Allowed = [false, true, true];
const ONLINE: Allowed = [false, false, true];

/// What is expected of the act without any wall.
#[derive(Clone, Copy, PartialEq)]
enum Bare {
    /// It succeeds for anybody.
    Works,
    /// It takes root, or something that not every machine has, or leaves a trace.
    Untried,
}
use Bare::{Untried, Works};

struct Probe {
    line: &'static str,
    bare: Bare,
    full: Allowed,
    /// None where that level does not hold it, and says so.
    landlock: Option<Allowed>,
}

/// Both levels hold it alike.
const fn both(line: &'static str, bare: Bare, allowed: Allowed) -> Probe {
    Probe { line, bare, full: allowed, landlock: Some(allowed) }
}

/// Never with the full wall; Landlock cannot hold it.
const fn full(line: &'static str, bare: Bare) -> Probe {
    Probe { line, bare, full: NEVER, landlock: None }
}

const FILES: &[Probe] = &[
    both("cat f", Works, ALWAYS),
    both("cat /etc/passwd", Works, ALWAYS),
    both("echo 1 > new && rm new", Works, WRITING),
    both("printf '#!/bin/sh\\n' > x && chmod +x x && ./x && rm x", Works, WRITING),
    both("mkfifo ff && rm ff", Works, WRITING),
    both("git -c user.name=a -c user.email=b@c commit -q --allow-empty -m x", Works, WRITING),
    both("echo 1 > $TMPDIR/t && cat $TMPDIR/t", Untried, ALWAYS),
    both("echo 1 > /dev/null", Works, ALWAYS),
    both("echo 1 > /dev/stderr", Works, ALWAYS),
    both("echo 1 > $O/new", Works, NEVER),
    both("echo evil > $O/f", Works, NEVER),
    both("echo evil >> $O/f", Works, NEVER),
    both("$P truncate $O/f", Works, NEVER),
    full("chmod 777 $O/f", Works),
    full("touch -d 2001-01-01 $O/f", Works),
    full("$P xattr $O/f", Untried),
    both("ln $O/f lnk && echo evil >> lnk", Works, NEVER),
    both("ln -sf $O/f sl && echo e > sl", Works, NEVER),
    both("echo 1 > mv1; mv mv1 $O/mv1", Works, NEVER),
    both("mv $O/f $O/g", Works, NEVER),
    both("rm -f $O/g $O/f && ! test -e $O/f", Works, NEVER),
    full("grep -q key $HOME/.ssh/id", Works),
    full("test -e $HOME/.ssh/id", Works),
    full("grep -q key $HOME/.netrc", Works),
    // Hidden places look empty; a refusal would stop programs that only look there.
    both("cat $HOME/.netrc && ls $HOME/.ssh", Works, ALWAYS),
    both("echo 1 > $HOME/.ssh/authorized_keys", Works, NEVER),
    both("$P handle $HOME/.ssh/id", Untried, NEVER),
    both("mknod blk b 254 0", Untried, NEVER),
    full("echo x > .git/hooks/pre-commit", Works),
    full("git config core.fsmonitor evil", Works),
    full("echo x > a/nested/.git/hooks/pre-commit", Works),
    full("echo x > .vscode/tasks.json", Works),
    full("mv a/nested a/n2 && mv a/n2 a/nested", Works),
    full("mv a b && mv b a", Works),
    full("mv .git .g2 && mkdir .git && rmdir .git && mv .g2 .git", Works),
];

const PROCESSES: &[Probe] = &[
    full("test -d /proc/$V", Works),
    both("grep -qa sk-victim /proc/$V/environ", Works, NEVER),
    both("cat /proc/$V/root$HOME/.ssh/id", Untried, NEVER),
    both("dd if=/dev/zero of=/proc/$V/mem bs=1 count=0", Untried, NEVER),
    both("$P signal $V", Works, NEVER),
    both("$P read-memory $V", Untried, NEVER),
    both("$P pidfd $V", Untried, NEVER),
    both("$P ptrace $V", Untried, NEVER),
    // The keeper.
    both("$P ptrace 1 || $P signal $K", Untried, NEVER),
    both("cat /proc/sys/kernel/core_pattern > /proc/sys/kernel/core_pattern", Untried, NEVER),
    both("cat /proc/sys/kernel/domainname > /proc/sys/kernel/domainname", Untried, NEVER),
    both("echo h > /proc/sysrq-trigger", Untried, NEVER),
    both("echo 0 > /sys/kernel/mm/ksm/run", Untried, NEVER),
    both("env | grep -q sk-fake", Untried, NEVER),
    both("grep -q 'CapEff:.0*[1-9a-f]' /proc/self/status", Untried, NEVER),
    both("grep -q 'CapBnd:.0*[1-9a-f]' /proc/self/status && test $(id -u) = 0", Untried, NEVER),
    both("grep -q 'NoNewPrivs:.*0' /proc/self/status", Works, NEVER),
    both("$P descriptors", Untried, NEVER),
    both("echo x > /dev/tty", Untried, NEVER),
];

const NETWORK: &[Probe] = &[
    both("$P tcp $TCP", Works, ONLINE),
    both("$P udp $UDP", Works, ONLINE),
    both("$P fastopen $TCP", Untried, NEVER),
    Probe { line: "$P loopback", bare: Works, full: ALWAYS, landlock: Some(ONLINE) },
    Probe { line: "$P autolisten", bare: Works, full: ALWAYS, landlock: Some(ONLINE) },
    // Those of others would be as near as one's own.
    both("$P own-unix $TMPDIR/s", Untried, NEVER),
    both("$P unix $O/listener", Works, NEVER),
    both("$P datagram $O/datagrams", Works, NEVER),
    both("$P abstract $A", Works, NEVER),
    both("$P pair", Works, ALWAYS),
    // Netlink: the kernel's events, and the routing table.
    both("$P family 16 3 15", Works, NEVER),
    both("$P family 16 3 0", Works, ONLINE),
    // Sockets of virtual machines, raw packets, raw internet, ciphers.
    both("$P family 40 1 0", Untried, NEVER),
    both("$P family 17 3 3", Untried, NEVER),
    both("$P family 2 3 1", Untried, NEVER),
    both("$P family 38 5 0", Untried, NEVER),
];

const KERNEL: &[Probe] = &[
    both("$P io_uring", Untried, NEVER),
    both("$P userns", Untried, NEVER),
    both("$P clone-userns", Untried, NEVER),
    both("$P clone3", Untried, NEVER),
    both("mkdir -p m; $P mount $PWD/m", Untried, NEVER),
    both("unshare -Urm mount -t tmpfs t /etc", Untried, NEVER),
    both("$P chroot $PWD", Untried, NEVER),
    both("$P keyctl", Untried, NEVER),
    both("$P bpf", Untried, NEVER),
    both("$P perf", Untried, NEVER),
    both("$P userfaultfd", Untried, NEVER),
    both("$P tiocsti", Untried, NEVER),
    both("$P queue", Untried, NEVER),
    both("$P shm 4242", Untried, NEVER),
    both("$P int80", Untried, NEVER),
    both("$P x32", Untried, NEVER),
    both("$P true", Works, ALWAYS),
];

fn all() -> impl Iterator<Item = &'static Probe> {
    [FILES, PROCESSES, NETWORK, KERNEL].into_iter().flatten()
}

/// Runs lines one after another inside of one wall; whether each succeeded, and what it said.
async fn run(ground: &Ground, wall: &Wall, lines: &[&str], mode: Mode) -> Vec<(bool, String)> {
    use std::os::linux::net::SocketAddrExt;
    let name = format!("wall-{}-{mode:?}-{}", std::process::id(), wall.level);
    let address = std::os::unix::net::SocketAddr::from_abstract_name(&name).unwrap();
    let _listener = std::os::unix::net::UnixListener::bind_addr(&address).unwrap();
    let each = "export K=$PPID; for line; do said=$(sh -c \"$line\" 2>&1); code=$?; \
        echo \"$code $said\" | tr -d '\\0' | tr '\\n' ' '; echo; done";
    let mut spec = ground.spec(each, mode);
    spec.argv.push("sh".into());
    spec.argv.extend(lines.iter().map(|line| line.to_string()));
    spec.env.push(("A".into(), name));
    let ran = ground::finish(sandbox::start(wall, spec).unwrap()).await;
    let told = ran.out.lines().filter_map(|line| line.split_once(' '));
    let told: Vec<(bool, String)> =
        told.map(|(code, said)| (code == "0", format!("{code} {said}"))).collect();
    assert_eq!(told.len(), lines.len(), "{:?} {}{}", ran.end, ran.out, ran.err);
    told
}

async fn holds(level: Level) {
    let Some(wall) = ground::wall(level).await else { return };
    let mut wrong = Vec::new();
    for (at, mode) in [Mode::ReadOnly, Mode::Write, Mode::WriteOnline].into_iter().enumerate() {
        let ground = Ground::new();
        let before = picture(&ground.outside());
        let expected = |probe: &Probe| if level == Level::Full { Some(probe.full) } else { probe.landlock };
        let probes: Vec<(&str, bool)> =
            all().filter_map(|probe| Some((probe.line, *expected(probe)?.get(at)?))).collect();
        let lines: Vec<&str> = probes.iter().map(|(line, _)| *line).collect();
        for ((line, wanted), (succeeded, said)) in probes.iter().zip(run(&ground, &wall, &lines, mode).await)
        {
            if *wanted != succeeded {
                wrong.push(format!("{mode:?}: {line}: {said}"));
            }
        }
        assert_eq!(before, picture(&ground.outside()), "{mode:?}");
    }
    assert!(wrong.is_empty(), "level {level}:\n{}", wrong.join("\n"));
}

#[tokio::test]
async fn the_full_wall() {
    holds(Level::Full).await;
}

#[tokio::test]
async fn landlock_and_seccomp_alone() {
    holds(Level::Landlock).await;
}

#[tokio::test]
async fn without_a_wall_the_acts_succeed() {
    let wall = Wall::probe(ground::probe()).await;
    let ground = Ground::new();
    let lines: Vec<&str> = all().filter(|probe| probe.bare == Works).map(|probe| probe.line).collect();
    let told = run(&ground, &wall, &lines, Mode::Full).await;
    let failed: Vec<_> = lines.iter().zip(told).filter(|(_, (succeeded, _))| !succeeded).collect();
    assert!(failed.is_empty(), "{failed:?}");
}

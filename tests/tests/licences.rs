//! Every dependency's licence is one that an Apache-2.0 product can ship.

use std::process::Command;

const ALLOWED: &[&str] = &[
    "Apache-2.0",
    "MIT",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "ISC",
    "Unlicense",
    "Zlib",
    "0BSD",
    "Unicode-3.0",
    "CC0-1.0",
    "CDLA-Permissive-2.0",
    "BSL-1.0",
    "MIT-0",
    "Apache-2.0 WITH LLVM-exception",
];

#[test]
fn all_may_be_shipped() {
    let out = Command::new(env!("CARGO"))
        .args([
            "tree",
            "--locked",
            "--offline",
            "-p",
            "server",
            "-e",
            "normal",
            "--prefix",
            "none",
            "--format",
            "{p}|{l}",
        ])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let text = String::from_utf8(out.stdout).unwrap();
    let rows: Vec<(&str, &str)> = text.lines().filter_map(|line| line.split_once('|')).collect();
    assert!(rows.len() > 100, "the tree is not whole");
    let odd: Vec<_> =
        rows.iter().filter(|(_, licence)| !is_allowed(licence.trim_end_matches(" (*)"))).collect();
    assert!(odd.is_empty(), "{odd:?}");
}

/// One side of each "or" is allowed, and both of each "and".
fn is_allowed(expression: &str) -> bool {
    let plain = expression.replace(['(', ')'], "").replace('/', " OR ");
    plain.split(" AND ").all(|part| part.split(" OR ").any(|licence| ALLOWED.contains(&licence.trim())))
}

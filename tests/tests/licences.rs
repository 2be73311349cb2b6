//! Every dependency's licence is one that an Apache-2.0 product can ship.

use std::process::Command;

use serde_json::Value;

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
    "MPL-2.0",
];

#[test]
fn all_may_be_shipped() {
    let out = Command::new(env!("CARGO"))
        .args([
            "metadata",
            "--format-version",
            "1",
            "--locked",
            "--offline",
            "--filter-platform",
            "x86_64-unknown-linux-gnu",
        ])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let metadata: Value = serde_json::from_slice(&out.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    let odd: Vec<String> = packages
        .iter()
        .filter(|package| !package["license"].as_str().is_some_and(is_allowed))
        .map(|package| format!("{} {}: {}", package["name"], package["version"], package["license"]))
        .collect();
    assert!(odd.is_empty(), "{}", odd.join("\n"));
}

/// One side of each "or" is allowed, and both of each "and".
fn is_allowed(expression: &str) -> bool {
    let plain = expression.replace(['(', ')'], "").replace('/', " OR ");
    plain.split(" AND ").all(|part| part.split(" OR ").any(|licence| ALLOWED.contains(&licence.trim())))
}

//! `i`: the terminal chat, by a short name.

fn main() -> std::process::ExitCode {
    server::main(std::env::args_os())
}

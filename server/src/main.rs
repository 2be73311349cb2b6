//! `interpreter`.

fn main() -> std::process::ExitCode {
    server::main(std::env::args_os())
}

//! A filter of whole calls: refused, or said not to exist, whatever their arguments. The number is found by
//! halving, so that every other call is through in a few steps.

use seccompiler::sock_filter;

/// Calls of the second 64-bit numbering, that look like the first.
const X32: u32 = 0x4000_0000;

const LOAD: u32 = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
const AT_LEAST: u32 = libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K;
const EQUALS: u32 = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
const RETURN: u32 = libc::BPF_RET | libc::BPF_K;

/// Refuses these. The architecture is looked at by another filter, whose word is stronger.
///
/// `clone3` is said not to exist: programs then use `clone`, whose flags can be looked at.
pub(crate) fn program(calls: &[i64]) -> Result<Vec<sock_filter>, String> {
    let absent = answer(libc::ENOSYS);
    let mut table = vec![(number(libc::SYS_clone3)?, absent)];
    for call in calls {
        table.push((number(*call)?, answer(libc::EPERM)));
    }
    table.sort_unstable();
    let mut steps = vec![step(LOAD, 0, 0, 0), step(AT_LEAST, 0, 1, X32), step(RETURN, 0, 0, absent)];
    steps.extend(halve(&table)?);
    Ok(steps)
}

fn halve(table: &[(u32, u32)]) -> Result<Vec<sock_filter>, String> {
    if let [(call, answer)] = table {
        let allow = step(RETURN, 0, 0, libc::SECCOMP_RET_ALLOW);
        return Ok(vec![step(EQUALS, 0, 1, *call), step(RETURN, 0, 0, *answer), allow]);
    }
    let (low, high) = table.split_at(table.len() / 2);
    let Some((first, _)) = high.first() else { return Err("no call to refuse".into()) };
    let (below, above) = (halve(low)?, halve(high)?);
    let over = u8::try_from(below.len()).map_err(|_| "too many calls to refuse")?;
    let mut steps = vec![step(AT_LEAST, over, 0, *first)];
    steps.extend(below.into_iter().chain(above));
    Ok(steps)
}

fn step(code: u32, jt: u8, jf: u8, k: u32) -> sock_filter {
    // The codes above are small.
    sock_filter { code: u16::try_from(code).unwrap_or(u16::MAX), jt, jf, k }
}

fn answer(error: i32) -> u32 {
    libc::SECCOMP_RET_ERRNO | error.unsigned_abs()
}

fn number(call: i64) -> Result<u32, String> {
    u32::try_from(call).map_err(|_| format!("no number of a call: {call}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the program answers to a call, by running it.
    fn answered(program: &[sock_filter], call: u32) -> u32 {
        let mut at = 0;
        loop {
            let step = &program[at];
            let jump = |taken: bool| 1 + usize::from(if taken { step.jt } else { step.jf });
            at += match u32::from(step.code) {
                LOAD => 1,
                AT_LEAST => jump(call >= step.k),
                EQUALS => jump(call == step.k),
                _ => return step.k,
            };
        }
    }

    #[test]
    fn each_call_gets_its_answer() {
        let calls =
            [crate::calls::DENIED, crate::calls::OWN, crate::calls::ALONE, crate::calls::NETWORK].concat();
        let program = program(&calls).unwrap();
        for call in 0..600u32 {
            let wanted = match i64::from(call) {
                libc::SYS_clone3 => answer(libc::ENOSYS),
                number if calls.contains(&number) => answer(libc::EPERM),
                _ => libc::SECCOMP_RET_ALLOW,
            };
            assert_eq!(answered(&program, call), wanted, "{call}");
        }
        assert_eq!(answered(&program, X32 + 1), answer(libc::ENOSYS));
        assert_eq!(answered(&program, u32::MAX), answer(libc::ENOSYS));
    }
}

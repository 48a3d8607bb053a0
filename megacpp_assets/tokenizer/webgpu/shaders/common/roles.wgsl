// What the merge of this step makes of each symbol. Where left and right are one symbol, mark_runs has decided it.
// A kernel declares symbols, run_roles and state.
const STAYS: u32 = 0u;
const BEGINS: u32 = 1u;
const ENDS: u32 = 2u;

fn role_of(i: u32) -> u32 {
    let left = state[LEFT];
    let right = state[RIGHT];
    let word = symbols[i];
    let symbol = word & SYMBOL_MASK;
    if (left == right) {
        if (symbol == left) {
            return run_roles[i];
        }
        return STAYS;
    }
    // A right symbol with the bit of a word's start differs from `right`.
    if (symbol == left && i + 1u < state[SIZE] && symbols[i + 1u] == right) {
        return BEGINS;
    }
    if (word == right && i > 0u && (symbols[i - 1u] & SYMBOL_MASK) == left) {
        return ENDS;
    }
    return STAYS;
}

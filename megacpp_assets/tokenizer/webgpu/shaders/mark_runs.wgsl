//! use state
// Pairs of one symbol, (a, a): the invocation at the begin of a run walks it from the left and pairs symbols by twos.
@group(0) @binding(0) var<storage, read> symbols: array<u32>;
@group(0) @binding(1) var<storage, read_write> run_roles: array<u32>;
@group(0) @binding(2) var<storage, read> state: array<u32>;

const STAYS: u32 = 0u;
const BEGINS: u32 = 1u;
const ENDS: u32 = 2u;

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let first = item_number(group, groups, lane);
    let symbol = state[LEFT];
    let size = state[SIZE];
    if (state[ACTIVE] == 0u || symbol != state[RIGHT] || first >= size) {
        return;
    }
    let word = symbols[first];
    if ((word & SYMBOL_MASK) != symbol) {
        return;
    }
    if (word == symbol && first > 0u && (symbols[first - 1u] & SYMBOL_MASK) == symbol) {
        return; // inside a run
    }
    var i = first;
    loop {
        if (i + 1u >= size || symbols[i + 1u] != symbol) {
            run_roles[i] = STAYS;
            return;
        }
        run_roles[i] = BEGINS;
        run_roles[i + 1u] = ENDS;
        i += 2u;
        if (i >= size || symbols[i] != symbol) {
            return;
        }
    }
}

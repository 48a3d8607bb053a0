//! use state murmur pairs roles
// The incremental count: beside every place of the merge the old pairs lose the word's count and the new ones gain it.
// A place answers for the pair on its left, and for that on its right unless another place begins there.
@group(0) @binding(0) var<storage, read> symbols: array<u32>;
@group(0) @binding(1) var<storage, read_write> pair_counts: array<atomic<u32>>;
@group(0) @binding(2) var<storage, read_write> pair_ids: array<atomic<u32>>;
@group(0) @binding(3) var<storage, read> state: array<u32>;
@group(0) @binding(4) var<storage, read> owners: array<u32>;
@group(0) @binding(5) var<storage, read> weights: array<u32>;
@group(0) @binding(6) var<storage, read_write> usage: array<atomic<u32>>;
@group(0) @binding(7) var<storage, read_write> dirty: array<u32>;
@group(0) @binding(8) var<storage, read> run_roles: array<u32>;

// The merged pair itself is not counted down: setup_merge has set its count to zero.
fn move_count(old_left: u32, old_right: u32, new_left: u32, new_right: u32, owner: u32) {
    let low = weights[2u * owner];
    let high = weights[2u * owner + 1u];
    if (old_left != state[LEFT] || old_right != state[RIGHT]) {
        let minus_low = ~low + 1u;
        add_to_pair(old_left, old_right, minus_low, ~high + select(0u, 1u, minus_low == 0u));
    }
    add_to_pair(new_left, new_right, low, high);
}

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let i = item_number(group, groups, lane);
    let size = state[SIZE];
    if (state[ACTIVE] == 0u || i >= size || role_of(i) != BEGINS) {
        return;
    }
    let left = state[LEFT];
    let right = state[RIGHT];
    let product = state[PRODUCT];
    let owner = owners[i];
    if ((symbols[i] & WORD_START_BIT) == 0u) {
        let before = symbols[i - 1u] & SYMBOL_MASK;
        let merged = role_of(i - 1u) == ENDS;
        move_count(before, left, select(before, product, merged), product, owner);
    }
    let end = i + 2u;
    if (end < size && (symbols[end] & WORD_START_BIT) == 0u && role_of(end) != BEGINS) {
        move_count(right, symbols[end], product, symbols[end], owner);
    }
}

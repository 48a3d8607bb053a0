//! use state scan
// Writes the symbols that stay to their new places, with the product where a merge begins, and their words with them.
@group(0) @binding(0) var<storage, read> valid_mask: array<u32>;
@group(0) @binding(1) var<storage, read> block_sums: array<u32>; // scanned: symbols that stay in the blocks before
@group(0) @binding(2) var<storage, read> input_symbols: array<u32>;
@group(0) @binding(3) var<storage, read_write> output_symbols: array<u32>;
@group(0) @binding(4) var<storage, read> state: array<u32>;
@group(0) @binding(5) var<storage, read> input_owners: array<u32>;
@group(0) @binding(6) var<storage, read_write> output_owners: array<u32>;

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(subgroup_id) subgroup: u32,
    @builtin(num_subgroups) subgroups: u32,
    @builtin(subgroup_size) subgroup_size: u32,
    @builtin(subgroup_invocation_id) subgroup_lane: u32,
) {
    if (state[ACTIVE] == 0u) {
        return;
    }
    let me = Subgroup(subgroup, subgroups, subgroup_size, subgroup_lane);
    let block = group_number(group, groups);
    let i = block * 256u + subgroup_position(me);
    var mask = 0u;
    if (i < state[SIZE]) {
        mask = valid_mask[i];
    }
    let scanned = scan_workgroup(mask & 1u, me);
    if ((mask & 1u) != 0u) {
        let at = block_sums[block] + scanned.before;
        let word = input_symbols[i];
        output_symbols[at] = select(word, state[PRODUCT] | (word & WORD_START_BIT), (mask & 2u) != 0u);
        output_owners[at] = input_owners[i];
    }
}

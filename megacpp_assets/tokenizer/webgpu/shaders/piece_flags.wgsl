//! use text
// 1 for each place where a piece begins: a text's BOS, a guard, a stray byte, or a word on the chain of words.
@group(0) @binding(0) var<storage, read> cells: array<u32>;
@group(0) @binding(1) var<storage, read> sizes: array<u32>;
@group(0) @binding(2) var<storage, read> visited: array<u32>;
@group(0) @binding(3) var<storage, read_write> ranks: array<u32>;

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let i = item_number(group, groups, lane);
    if (i >= sizes[0]) {
        return;
    }
    let alone = (cells[i] & (TEXT | GUARD | STRAY)) != 0u;
    let word = visited[i] != 0u && cell_at(i) != END;
    ranks[i] = select(0u, 1u, alone || word);
}

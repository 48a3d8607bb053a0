//! use chain scan
// Writes the tokens of the chain one behind the other. A workgroup takes a chunk; its invocations write neighbours.
struct TrieParams {
    input_length: u32,
    limit: u32,
}

@group(0) @binding(0) var<storage, read> token_output: array<vec2<u32>>;
@group(0) @binding(1) var<storage, read> chunk_offsets: array<vec2<u32>>;
@group(0) @binding(2) var<storage, read_write> compact_output: array<u32>;
@group(0) @binding(3) var<uniform> params: TrieParams;

var<workgroup> seen: array<atomic<u32>, CHUNK>;

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(subgroup_id) subgroup: u32,
    @builtin(num_subgroups) subgroups: u32,
    @builtin(subgroup_size) subgroup_size: u32,
    @builtin(subgroup_invocation_id) subgroup_lane: u32,
) {
    let me = Subgroup(subgroup, subgroups, subgroup_size, subgroup_lane);
    let lane = subgroup_position(me);
    let chunk = group_number(group, groups);
    let first = chunk * CHUNK;
    for (var part = 0u; part < 4u; part++) {
        let at = part * 256u + lane;
        next_place[at] = CHUNK;
        atomicStore(&seen[at], 0u);
        if (first + at < params.limit) {
            next_place[at] = at + token_output[first + at].y;
            atomicStore(&seen[at], select(0u, 1u, chunk_offsets[chunk].x == first + at));
        }
    }
    workgroupBarrier();
    for (var round = 0u; round < 10u; round++) {
        for (var part = 0u; part < 4u; part++) {
            let to = next_place[part * 256u + lane];
            if (to < CHUNK && atomicLoad(&seen[part * 256u + lane]) != 0u) {
                atomicStore(&seen[to], 1u);
            }
        }
        workgroupBarrier();
        double_jumps(lane);
    }
    var before = 0u;
    for (var part = 0u; part < 4u; part++) {
        let at = part * 256u + lane;
        let visited = select(0u, atomicLoad(&seen[at]), first + at < params.limit);
        let scanned = scan_workgroup(visited, me);
        if (visited != 0u) {
            compact_output[chunk_offsets[chunk].y + before + scanned.before] = token_output[first + at].x;
        }
        before += scanned.total;
        workgroupBarrier();
    }
}

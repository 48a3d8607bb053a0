//! use murmur pieces
// Puts each word into a table of distinct words, which counts them. A slot belongs to the bytes of the piece that
// claimed it; words are compared byte by byte, so equal hashes do no harm. Of equal words the first piece is kept.
@group(0) @binding(0) var<storage, read_write> pieces: array<vec4<u32>>;
@group(0) @binding(1) var<storage, read> counts: array<u32>; // counts[0]: number of pieces; counts[2]: slots - 1
@group(0) @binding(2) var<storage, read> bytes: array<u32>;
@group(0) @binding(3) var<storage, read_write> claims: array<atomic<u32>>; // piece + 1
@group(0) @binding(4) var<storage, read_write> firsts: array<atomic<u32>>; // ~ of the first piece
@group(0) @binding(5) var<storage, read_write> times: array<atomic<u32>>;

fn byte_at(i: u32) -> u32 {
    return (bytes[i / 4u] >> (8u * (i % 4u))) & 0xFFu;
}

fn is_same(one: vec4<u32>, start: u32, end: u32) -> bool {
    var same = end - start == one.y - one.x;
    for (var k = 0u; same && k < one.y - one.x; k++) {
        same = byte_at(one.x + k) == byte_at(start + k);
    }
    return same;
}

// The claim of a slot after an attempt to make it piece i's. A weak exchange may fail without a reason: try again.
fn claim(slot: u32, i: u32) -> u32 {
    var seen = atomicLoad(&claims[slot]);
    while (seen == 0u) {
        let attempt = atomicCompareExchangeWeak(&claims[slot], 0u, i + 1u);
        seen = select(attempt.old_value, i + 1u, attempt.exchanged);
    }
    return seen - 1u;
}

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let i = item_number(group, groups, lane);
    if (i >= counts[0] || pieces[i].z != IS_WORD) {
        return;
    }
    let mine = pieces[i];
    var hash = mine.y - mine.x;
    for (var k = mine.x; k < mine.y; k++) {
        hash = murmur_mix(hash * 31u + byte_at(k));
    }
    var slot = hash & counts[2];
    var found = false;
    for (var probe = 1u; !found; probe++) {
        let owner = claim(slot, i);
        found = owner == i || is_same(mine, pieces[owner].x, pieces[owner].y);
        if (!found) {
            slot = (slot + probe) & counts[2];
        }
    }
    atomicMax(&firsts[slot], ~i);
    atomicAdd(&times[slot], 1u);
    pieces[i].w = slot;
}

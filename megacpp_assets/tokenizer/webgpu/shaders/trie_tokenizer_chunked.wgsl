// Greedy longest match, for every place of the text: its token, and where a chain of tokens that enters a chunk at the
// place leaves the chunk, with how many tokens. A workgroup takes a chunk of 1,024 places, four for each invocation.
struct TrieParams {
    input_length: u32, // bytes that tokens may hold
    limit: u32, // places where tokens may begin; a token may end behind them
}

@group(0) @binding(0) var<storage, read> input: array<u32>; // four bytes a word
@group(0) @binding(1) var<storage, read> nodes: array<u32>; // first edge, edges, id + 1 of each node
@group(0) @binding(2) var<storage, read> edges: array<u32>; // byte, child; the edges of a node by rising byte
@group(0) @binding(3) var<storage, read_write> token_output: array<vec2<u32>>; // id, length
@group(0) @binding(4) var<storage, read_write> chunk_counts: array<vec2<u32>>; // place behind the chain, its tokens
@group(0) @binding(5) var<uniform> params: TrieParams;

const CHUNK: u32 = 1024u;
// The root's children by byte, and the three words of each: the first two steps read no node.
var<workgroup> root_lut: array<u32, 256>;
var<workgroup> d1_first: array<u32, 256>;
var<workgroup> d1_count: array<u32, 256>;
var<workgroup> d1_id: array<u32, 256>;
var<workgroup> next_place: array<u32, CHUNK>;
var<workgroup> token_count: array<u32, CHUNK>;

fn byte_at(i: u32) -> u32 {
    return (input[i / 4u] >> (8u * (i % 4u))) & 0xFFu;
}

// The child by `byte`, 0 if there is none. All invocations take the same nine steps, enough for 256 edges.
fn find_child(first: u32, count: u32, byte: u32) -> u32 {
    var low = first;
    var size = count;
    for (var step = 0u; step < 9u; step++) {
        let half = size / 2u;
        let less = size != 0u && edges[2u * (low + half)] < byte;
        low = select(low, low + half + 1u, less);
        size = select(half, size - half - 1u, less);
    }
    let found = low < first + count && edges[2u * low] == byte;
    return select(0u, edges[2u * low + 1u], found);
}

// (id, length) of the longest token at i. Every byte is a token.
fn longest_token(i: u32) -> vec2<u32> {
    let byte = byte_at(i);
    var found = vec2<u32>(d1_id[byte] - 1u, 1u);
    var end = i + 1u;
    var node = root_lut[byte];
    if (end < params.input_length) {
        node = find_child(d1_first[byte], d1_count[byte], byte_at(end));
    }
    while (node != 0u && end < params.input_length) {
        end += 1u;
        let id = nodes[3u * node + 2u];
        found = select(found, vec2<u32>(id - 1u, end - i), id != 0u);
        if (end < params.input_length) {
            node = find_child(nodes[3u * node], nodes[3u * node + 1u], byte_at(end));
        }
    }
    return found;
}

fn load_root(lane: u32) {
    if (lane < nodes[1]) {
        let edge = nodes[0] + lane;
        let byte = edges[2u * edge];
        let child = edges[2u * edge + 1u];
        root_lut[byte] = child;
        d1_first[byte] = nodes[3u * child];
        d1_count[byte] = nodes[3u * child + 1u];
        d1_id[byte] = nodes[3u * child + 2u];
    }
}

fn double_chains(lane: u32) {
    var further: array<u32, 4>;
    var counted: array<u32, 4>;
    for (var part = 0u; part < 4u; part++) {
        let at = part * 256u + lane;
        let to = next_place[at];
        let inside = min(to, CHUNK - 1u);
        further[part] = select(to, next_place[inside], to < CHUNK);
        counted[part] = token_count[at] + select(0u, token_count[inside], to < CHUNK);
    }
    workgroupBarrier();
    for (var part = 0u; part < 4u; part++) {
        next_place[part * 256u + lane] = further[part];
        token_count[part * 256u + lane] = counted[part];
    }
    workgroupBarrier();
}

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let first = group_number(group, groups) * CHUNK;
    load_root(lane);
    workgroupBarrier();
    for (var part = 0u; part < 4u; part++) {
        let at = part * 256u + lane;
        next_place[at] = at; // a place where no token may begin leads to itself
        token_count[at] = 0u;
        if (first + at < params.limit) {
            let token = longest_token(first + at);
            token_output[first + at] = token;
            next_place[at] = at + token.y;
            token_count[at] = 1u;
        }
    }
    workgroupBarrier();
    for (var round = 0u; round < 10u; round++) {
        double_chains(lane);
    }
    for (var part = 0u; part < 4u; part++) {
        let at = part * 256u + lane;
        if (first + at < params.limit) {
            chunk_counts[first + at] = vec2<u32>(first + next_place[at], token_count[at]);
        }
    }
}

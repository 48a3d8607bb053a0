// Where the chain from place 0 enters each chunk of 1,024 places; not inside of it where it passes the chunk by.
@group(0) @binding(0) var<storage, read> exits: array<u32>;
@group(0) @binding(1) var<storage, read_write> entries: array<u32>;
@group(0) @binding(2) var<storage, read> sizes: array<u32>;

@compute @workgroup_size(1)
fn main() {
    var place = 0u;
    for (var chunk = 0u; chunk * 1024u < sizes[0]; chunk++) {
        entries[chunk] = place;
        if (place < min((chunk + 1u) * 1024u, sizes[0])) {
            place = exits[place];
        }
    }
}

// The finalizer of Murmur3, and the hash of a pair of symbols.
fn murmur_mix(value: u32) -> u32 {
    var h = value;
    h = (h ^ (h >> 16u)) * 0x85EBCA6Bu;
    h = (h ^ (h >> 13u)) * 0xC2B2AE35u;
    return h ^ (h >> 16u);
}

fn pair_hash(left: u32, right: u32) -> u32 {
    return murmur_mix(left * 0x9E3779B1u + murmur_mix(right + 0x7F4A7C15u));
}

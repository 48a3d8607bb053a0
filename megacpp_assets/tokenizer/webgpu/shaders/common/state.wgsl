// Words of the training state; merging.py names the same words.
const STOP: u32 = 0u; // 0, or why no further merge is made: RUNNING, DONE, TABLE_FULL, POOL_FULL
const ACTIVE: u32 = 1u; // whether this step compacts the symbols
const LEFT: u32 = 2u;
const RIGHT: u32 = 3u;
const PRODUCT: u32 = 4u;
const SIZE: u32 = 5u; // symbols before this step
const IDS: u32 = 6u;
const MADE: u32 = 7u; // merges whose product was neither known nor made before
const MERGES: u32 = 8u;
const DROPPED: u32 = 9u; // pairs with a forbidden product
const POOL_USED: u32 = 10u;
const STEPS: u32 = 11u;
const TARGET: u32 = 12u;
const CAPACITY: u32 = 13u; // slots of the table of pairs, a power of two
const POOL_CAPACITY: u32 = 14u;
const STRING_SLOTS: u32 = 15u; // a power of two

const RUNNING: u32 = 0u;
const DONE: u32 = 1u;
const TABLE_FULL: u32 = 2u;
const POOL_FULL: u32 = 3u;

const NO_SYMBOL: u32 = 0x7FFFFFFFu;
// Seed 004 marks the first symbol of a word by bit 16; bit 31 leaves room for ids over 65,535.
const WORD_START_BIT: u32 = 0x80000000u;
const SYMBOL_MASK: u32 = 0x7FFFFFFFu;
const BLOCK: u32 = 1024u; // slots of the table that find_max4 reduces together
const DROPPED_HIGH: u32 = 0xC0000000u; // -2^62: no sum of word counts brings a dropped pair back above zero

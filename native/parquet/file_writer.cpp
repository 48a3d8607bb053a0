#include "file_writer.hpp"

namespace megacpp {
namespace {

constexpr int zstd = 6, run_length = 3, version = 2;
constexpr std::string_view mark = "PAR1";
constexpr std::string_view author = "megacpp_assets";

void write_page_header(Thrift& out, const Page& page, const Packed& packed) {
  out.number(1, Kind::i32, static_cast<int>(page.kind));
  out.number(2, Kind::i32, static_cast<std::int64_t>(page.body.size()));
  out.number(3, Kind::i32, static_cast<std::int64_t>(packed.size));
  out.number(4, Kind::i32, static_cast<std::int32_t>(packed.checksum));
  const bool is_dictionary = page.kind == PageKind::dictionary;
  out.begin(is_dictionary ? 7 : 5);
  out.number(1, Kind::i32, static_cast<std::int64_t>(page.values));
  out.number(2, Kind::i32, static_cast<int>(page.encoding));
  if (!is_dictionary) {
    out.number(3, Kind::i32, run_length);
    out.number(4, Kind::i32, run_length);
  }
  out.end();
  out.end();
}

}  // namespace

void FileWriter::begin_group(std::size_t rows) { groups_.push_back({rows, {}}); }

const Encoded& FileWriter::encode(std::size_t leaf, const ArrowArray& batch) {
  encode_leaf(encoded_, leaves_[leaf], batch, encodings_[leaf]);
  Chunk chunk;
  chunk.leaf = leaf;
  chunk.entries = encoded_.entries;
  chunk.absent = encoded_.absent;
  chunk.encoding = encoded_.data.encoding;
  chunk.bounds = encoded_.bounds;
  groups_.back().chunks.push_back(std::move(chunk));
  return encoded_;
}

Bytes FileWriter::place(const Page& page, const Packed& packed) {
  out_.clear();
  Thrift header(out_);
  write_page_header(header, page, packed);
  Chunk& chunk = groups_.back().chunks.back();
  (page.kind == PageKind::dictionary ? chunk.dictionary_at : chunk.data_at) = at_;
  chunk.whole_size += out_.size() + page.body.size();
  chunk.packed_size += out_.size() + packed.size;
  at_ += static_cast<std::int64_t>(out_.size() + packed.size);
  return out_.bytes();
}

Bytes FileWriter::footer(const ArrowSchema& schema, const std::vector<std::pair<std::string, std::string>>& metadata) {
  out_.clear();
  Thrift out(out_);
  out.number(1, Kind::i32, version);
  write_schema(out, schema);
  std::size_t rows = 0;
  for (const Group& group : groups_) rows += group.rows;
  out.number(3, Kind::i64, static_cast<std::int64_t>(rows));
  out.list(4, Kind::structure, groups_.size());
  for (std::size_t number = 0; number < groups_.size(); ++number) write_group(out, groups_[number], number);
  out.list(5, Kind::structure, metadata.size());
  for (const auto& [key, value] : metadata) {
    out.begin();
    out.text(1, key);
    out.text(2, value);
    out.end();
  }
  out.text(6, author);
  out.list(7, Kind::structure, leaves_.size());
  for (std::size_t leaf = 0; leaf < leaves_.size(); ++leaf) {
    out.begin();  // bounds are in the order of their type
    out.begin(1);
    out.end();
    out.end();
  }
  out.end();
  out_.put_number(out_.size(), sizeof(std::uint32_t));
  out_.put(mark.data(), mark.size());
  return out_.bytes();
}

void FileWriter::write_group(Thrift& out, const Group& group, std::size_t number) const {
  std::size_t whole = 0, packed = 0;
  out.begin();
  out.list(1, Kind::structure, group.chunks.size());
  for (const Chunk& chunk : group.chunks) {
    write_chunk(out, chunk);
    whole += chunk.whole_size;
    packed += chunk.packed_size;
  }
  const Chunk& first = group.chunks.front();
  out.number(2, Kind::i64, static_cast<std::int64_t>(whole));
  out.number(3, Kind::i64, static_cast<std::int64_t>(group.rows));
  out.number(5, Kind::i64, first.dictionary_at < 0 ? first.data_at : first.dictionary_at);
  out.number(6, Kind::i64, static_cast<std::int64_t>(packed));
  if (number <= 0x7FFF) out.number(7, Kind::i16, static_cast<std::int64_t>(number));
  out.end();
}

void FileWriter::write_chunk(Thrift& out, const Chunk& chunk) const {
  const Leaf& leaf = leaves_[chunk.leaf];
  out.begin();
  out.number(2, Kind::i64, 0);
  out.begin(3);
  out.number(1, Kind::i32, static_cast<int>(leaf.type.physical));
  const bool has_dictionary = chunk.dictionary_at >= 0;
  out.list(2, Kind::i32, has_dictionary ? 3 : 2);
  if (has_dictionary) out.item(static_cast<int>(Encoding::plain));
  out.item(run_length);
  out.item(static_cast<int>(chunk.encoding));
  out.list(3, Kind::binary, leaf.path.size());
  for (const std::string& name : leaf.path) out.item(std::string_view(name));
  out.number(4, Kind::i32, zstd);
  out.number(5, Kind::i64, static_cast<std::int64_t>(chunk.entries));
  out.number(6, Kind::i64, static_cast<std::int64_t>(chunk.whole_size));
  out.number(7, Kind::i64, static_cast<std::int64_t>(chunk.packed_size));
  out.number(9, Kind::i64, chunk.data_at);
  if (has_dictionary) out.number(11, Kind::i64, chunk.dictionary_at);
  out.begin(12);
  out.number(3, Kind::i64, static_cast<std::int64_t>(chunk.absent));
  if (chunk.bounds) {
    out.text(5, chunk.bounds->largest);
    out.text(6, chunk.bounds->least);
  }
  out.end();
  out.end();
  out.end();
}

}  // namespace megacpp

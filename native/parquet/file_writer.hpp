// A parquet file whose pages somebody else compresses and writes: what each holds, where it lies, and the footer.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "encode.hpp"

namespace megacpp {

// A page as it lies in the file, behind its header.
struct Packed {
  std::size_t size;
  std::uint32_t checksum;
};

class FileWriter {
 public:
  FileWriter(std::vector<Leaf> leaves, std::vector<Encoding> encodings)
      : leaves_(std::move(leaves)), encodings_(std::move(encodings)) {}

  std::size_t leaves() const { return leaves_.size(); }

  // Begins a row group of `rows` rows.
  void begin_group(std::size_t rows);

  // Encodes the next leaf of the row group; its pages are there until the next one's are.
  const Encoded& encode(std::size_t leaf, const ArrowArray& batch);

  // The header of `page`, to be written in front of it; the two follow what was written before.
  Bytes place(const Page& page, const Packed& packed);

  // The end of the file, with the annotations `metadata`.
  Bytes footer(const ArrowSchema& schema, const std::vector<std::pair<std::string, std::string>>& metadata);

 private:
  struct Chunk {
    std::size_t leaf = 0;
    std::size_t entries = 0;
    std::size_t absent = 0;
    std::int64_t dictionary_at = -1;
    std::int64_t data_at = -1;
    std::size_t whole_size = 0;  // of pages with headers, unpacked
    std::size_t packed_size = 0;
    Encoding encoding = Encoding::plain;
    std::optional<Bounds> bounds;
  };

  struct Group {
    std::size_t rows = 0;
    std::vector<Chunk> chunks;
  };

  void write_group(Thrift& out, const Group& group, std::size_t number) const;
  void write_chunk(Thrift& out, const Chunk& chunk) const;

  std::vector<Leaf> leaves_;
  std::vector<Encoding> encodings_;
  std::vector<Group> groups_;
  std::int64_t at_ = 4;  // behind the mark at the start
  Encoded encoded_;
  Buffer out_;
};

}  // namespace megacpp

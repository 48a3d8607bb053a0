// Copyright 2026 The megacpp_assets authors.
// SPDX-License-Identifier: Apache-2.0
#include "courier/wire.h"

namespace courier {

void WireWriter::Varint(std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) {
    out_->push_back(static_cast<char>(value | 0x80));
  }
  out_->push_back(static_cast<char>(value));
}

void WireWriter::Tag(int field, WireType type) {
  Varint(static_cast<std::uint64_t>(field) << 3 |
         static_cast<std::uint64_t>(type));
}

void WireWriter::UInt(int field, std::uint64_t value) {
  if (value == 0) return;
  Tag(field, WireType::kVarint);
  Varint(value);
}

void WireWriter::Delimited(int field, std::string_view value) {
  Tag(field, WireType::kBytes);
  Varint(value.size());
  out_->append(value);
}

void WireWriter::Bytes(int field, std::string_view value) {
  if (!value.empty()) Delimited(field, value);
}

void WireWriter::Sub(int field, const Message& message) {
  Delimited(field, message.Serialize());
}

bool WireReader::Varint(std::uint64_t* value) {
  *value = 0;
  for (unsigned shift = 0; shift < 70 && !in_.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(in_.front());
    in_.remove_prefix(1);
    if (shift < 64) *value |= std::uint64_t{byte & 0x7fu} << shift;
    if (byte < 0x80) return true;
  }
  return Fail();
}

bool WireReader::Next() {
  if (failed_ || in_.empty()) return false;
  std::uint64_t tag = 0;
  if (!Varint(&tag)) return false;
  field_ = static_cast<int>(tag >> 3);
  type_ = static_cast<WireType>(tag & 7);
  switch (type_) {
    case WireType::kVarint:
      return Varint(&number_);
    case WireType::kBytes:
      if (!Varint(&number_)) return false;
      if (number_ > in_.size()) return Fail();
      bytes_ = in_.substr(0, number_);
      in_.remove_prefix(number_);
      return true;
  }
  return Fail();
}

std::uint64_t WireReader::UInt() {
  if (type_ == WireType::kVarint) return number_;
  Fail();
  return 0;
}

std::string_view WireReader::Bytes() {
  if (type_ == WireType::kBytes) return bytes_;
  Fail();
  return {};
}

void WireReader::Sub(Message* message) {
  const std::string_view bytes = Bytes();
  if (!failed_ && !message->Parse(bytes)) Fail();
}

std::string Message::Serialize() const {
  std::string out;
  WireWriter writer(&out);
  WriteFields(&writer);
  return out;
}

bool Message::Parse(std::string_view bytes) {
  Clear();
  WireReader reader(bytes);
  while (reader.Next()) ReadField(&reader);
  return !reader.failed();
}

}  // namespace courier

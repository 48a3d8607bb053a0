// Copyright 2026 The megacpp_assets authors.
// SPDX-License-Identifier: Apache-2.0
#ifndef COURIER_WIRE_H_
#define COURIER_WIRE_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace courier {

/// How the bytes after a tag are laid out.
enum class WireType : std::uint8_t { kVarint = 0, kBytes = 2 };

/// Folds the sign into the lowest bit, so that small negatives stay short.
constexpr std::uint64_t ZigZagEncode(std::int64_t v) {
  return (static_cast<std::uint64_t>(v) << 1) ^
         static_cast<std::uint64_t>(v >> 63);
}
constexpr std::int64_t ZigZagDecode(std::uint64_t v) {
  return static_cast<std::int64_t>((v >> 1) ^ (~(v & 1) + 1));
}

class Message;

/// Appends tagged fields. Values equal to the default are left out.
class WireWriter {
 public:
  explicit WireWriter(std::string* out) : out_(out) {}

  void UInt(int field, std::uint64_t value);
  void SInt(int field, std::int64_t value) { UInt(field, ZigZagEncode(value)); }
  void Bytes(int field, std::string_view value);
  /// Unlike Bytes, writes the field even when it is empty, as an element of
  /// a repeated field may be.
  void Sub(int field, const Message& message);

 private:
  void Varint(std::uint64_t value);
  void Tag(int field, WireType type);
  void Delimited(int field, std::string_view value);

  std::string* out_;
};

/// Walks over the tagged fields of a buffer it does not own.
class WireReader {
 public:
  explicit WireReader(std::string_view in) : in_(in) {}

  /// Moves to the next field. False at the end, and on malformed input.
  bool Next();
  bool failed() const { return failed_; }

  /// Number of the current field.
  int field() const { return field_; }
  std::uint64_t UInt();
  std::int64_t SInt() { return ZigZagDecode(UInt()); }
  std::string_view Bytes();
  void Sub(Message* message);

 private:
  bool Varint(std::uint64_t* value);
  bool Fail() {
    failed_ = true;
    return false;
  }

  std::string_view in_;
  int field_ = 0;
  WireType type_ = WireType::kVarint;
  std::uint64_t number_ = 0;
  std::string_view bytes_;
  bool failed_ = false;
};

/// Base of everything that is sent. Subclasses list their fields twice: once
/// for writing, once for reading.
class Message {
 public:
  virtual ~Message() = default;

  std::string Serialize() const;
  /// Replaces this message by the one in `bytes`. Unknown fields are skipped.
  bool Parse(std::string_view bytes);

 protected:
  virtual void WriteFields(WireWriter* writer) const = 0;
  virtual void ReadField(WireReader* reader) = 0;
  virtual void Clear() = 0;
};

}  // namespace courier

#endif  // COURIER_WIRE_H_

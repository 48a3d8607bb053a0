// Copyright 2026 The megacpp_assets authors.
// SPDX-License-Identifier: Apache-2.0
#include "courier/transport.h"

#include <mutex>

namespace courier {
namespace {

struct MetadataEntry : Message {
  std::string key;
  std::string value;

 protected:
  void WriteFields(WireWriter* writer) const override {
    writer->Bytes(1, key);
    writer->Bytes(2, value);
  }
  void ReadField(WireReader* reader) override {
    if (reader->field() == 1) key = reader->Bytes();
    if (reader->field() == 2) value = reader->Bytes();
  }
  void Clear() override { *this = MetadataEntry(); }
};

/// What arrives at one end. Both ends keep both inboxes alive.
class Inbox {
 public:
  void Open(Endpoint::Receiver receiver) {
    std::lock_guard<std::mutex> lock(mutex_);
    receiver_ = std::move(receiver);
  }
  void Close() { Open(nullptr); }
  bool Deliver(const std::string& bytes) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!receiver_) return false;
    receiver_(bytes);
    return true;
  }

 private:
  std::mutex mutex_;
  Endpoint::Receiver receiver_;
};

class InProcessEndpoint : public Endpoint {
 public:
  InProcessEndpoint(std::shared_ptr<Inbox> own, std::shared_ptr<Inbox> peer)
      : own_(std::move(own)), peer_(std::move(peer)) {}
  ~InProcessEndpoint() override { own_->Close(); }

  void Receive(Receiver receiver) override { own_->Open(std::move(receiver)); }
  bool Send(const std::string& bytes) override { return peer_->Deliver(bytes); }
  void Close() override { own_->Close(); }

 private:
  std::shared_ptr<Inbox> own_;
  std::shared_ptr<Inbox> peer_;
};

}  // namespace

void Frame::WriteFields(WireWriter* writer) const {
  writer->UInt(1, static_cast<std::uint64_t>(kind));
  writer->UInt(2, call_id);
  writer->Bytes(3, method);
  writer->UInt(4, timeout_us);
  for (const auto& [key, value] : metadata) {
    MetadataEntry entry;
    entry.key = key;
    entry.value = value;
    writer->Sub(5, entry);
  }
  writer->Bytes(6, payload);
  writer->UInt(7, static_cast<std::uint64_t>(status.code()));
  writer->Bytes(8, status.message());
}

void Frame::ReadField(WireReader* reader) {
  switch (reader->field()) {
    case 1:
      kind = static_cast<Kind>(reader->UInt());
      break;
    case 2:
      call_id = reader->UInt();
      break;
    case 3:
      method = reader->Bytes();
      break;
    case 4:
      timeout_us = reader->UInt();
      break;
    case 5: {
      MetadataEntry entry;
      reader->Sub(&entry);
      metadata[entry.key] = entry.value;
      break;
    }
    case 6:
      payload = reader->Bytes();
      break;
    case 7:
      status = Status(static_cast<Code>(reader->UInt()), status.message());
      break;
    case 8:
      status = Status(status.code(), std::string(reader->Bytes()));
      break;
  }
}

EndpointPair ConnectInProcess() {
  auto left = std::make_shared<Inbox>();
  auto right = std::make_shared<Inbox>();
  return {std::make_unique<InProcessEndpoint>(left, right),
          std::make_unique<InProcessEndpoint>(right, left)};
}

}  // namespace courier

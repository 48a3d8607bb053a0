// Copyright 2026 The megacpp_assets authors.
// SPDX-License-Identifier: Apache-2.0
#ifndef COURIER_TRANSPORT_H_
#define COURIER_TRANSPORT_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "courier/status.h"
#include "courier/wire.h"

namespace courier {

using Metadata = std::map<std::string, std::string>;

/// The unit that travels between a channel and a server.
struct Frame : Message {
  enum class Kind { kNone = 0, kRequest = 1, kReply = 2, kCancel = 3 };

  Kind kind = Kind::kNone;
  std::uint64_t call_id = 0;
  std::string method;
  /// Time the caller is still willing to wait; zero for no limit.
  std::uint64_t timeout_us = 0;
  Metadata metadata;
  std::string payload;
  Status status;

 protected:
  void WriteFields(WireWriter* writer) const override;
  void ReadField(WireReader* reader) override;
  void Clear() override { *this = Frame(); }
};

/// One end of a connection.
class Endpoint {
 public:
  /// Gets each message sent by the other end. Called on the sender's thread;
  /// must not send or close from there.
  using Receiver = std::function<void(const std::string& bytes)>;

  virtual ~Endpoint() = default;
  virtual void Receive(Receiver receiver) = 0;
  /// False when the other end is gone.
  virtual bool Send(const std::string& bytes) = 0;
  /// Once this returns, the receiver is not running and will not run again.
  virtual void Close() = 0;
};

using EndpointPair =
    std::pair<std::unique_ptr<Endpoint>, std::unique_ptr<Endpoint>>;

/// Two ends joined inside the process, without threads of their own.
EndpointPair ConnectInProcess();

}  // namespace courier

#endif  // COURIER_TRANSPORT_H_

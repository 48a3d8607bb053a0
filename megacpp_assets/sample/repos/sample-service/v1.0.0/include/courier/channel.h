// Copyright 2026 The megacpp_assets authors.
// SPDX-License-Identifier: Apache-2.0
#ifndef COURIER_CHANNEL_H_
#define COURIER_CHANNEL_H_

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "courier/completion_queue.h"
#include "courier/interceptor.h"
#include "courier/transport.h"

namespace courier {

/// What the caller wants of one call.
struct ClientContext {
  Deadline deadline = NoDeadline();
  Metadata metadata;
};

class Channel;

/// The client's side of one call. Whichever comes first of the reply, the
/// deadline, cancellation and the loss of the channel decides the outcome.
class ClientCall : public Completion,
                   public std::enable_shared_from_this<ClientCall> {
 public:
  ClientCall(Channel* channel, CompletionQueue* queue, void* tag)
      : channel_(channel), queue_(queue), tag_(tag) {}

  void Cancel();

  /// Good once the tag has come out of the queue.
  const Status& status() const { return status_; }
  const std::string& payload() const { return payload_; }

  bool Finalize(void** tag, bool* ok) override;

 private:
  friend class Channel;
  class DeadlineAlarm;
  enum class State { kIdle, kSent, kDone };

  void Start(const ClientContext& context, CallInfo info, std::string payload);
  void Complete(Status status, std::string payload);

  Channel* channel_;
  CompletionQueue* queue_;
  void* tag_;
  std::mutex mutex_;
  State state_ = State::kIdle;
  std::uint64_t id_ = 0;
  CallInfo info_;
  std::size_t entered_ = 0;
  bool has_alarm_ = false;
  CompletionQueue::AlarmId alarm_;
  Status status_;
  std::string payload_;
};

/// A connection to a server. Destroying it ends the calls under way; they must
/// not be cancelled after that.
class Channel {
 public:
  explicit Channel(std::unique_ptr<Endpoint> endpoint);
  ~Channel();

  /// To be called before the first call. OnFinish may run on any thread.
  void AddInterceptor(std::shared_ptr<Interceptor> interceptor) {
    interceptors_.Add(std::move(interceptor));
  }

  /// Starts a call; `tag` comes out of `queue` when it has ended.
  std::shared_ptr<ClientCall> StartCall(const ClientContext& context,
                                        const std::string& method,
                                        std::string payload,
                                        CompletionQueue* queue, void* tag);

  /// Makes a call and waits for its end.
  Status BlockingCall(const ClientContext& context, const std::string& method,
                      const Message& request, Message* reply);

 private:
  friend class ClientCall;
  std::uint64_t Track(std::shared_ptr<ClientCall> call);
  std::shared_ptr<ClientCall> Untrack(std::uint64_t id);
  void OnBytes(const std::string& bytes);

  std::unique_ptr<Endpoint> endpoint_;
  InterceptorChain interceptors_;
  std::mutex mutex_;
  std::uint64_t next_id_ = 1;
  std::map<std::uint64_t, std::shared_ptr<ClientCall>> active_;
};

/// A started call together with the type of its reply.
template <typename Reply>
class AsyncReply {
 public:
  explicit AsyncReply(std::shared_ptr<ClientCall> call)
      : call_(std::move(call)) {}

  void Cancel() { call_->Cancel(); }
  Status Get(Reply* reply) const {
    if (!call_->status().ok()) return call_->status();
    if (reply->Parse(call_->payload())) return Status();
    return Status(Code::kInvalidArgument, "malformed reply");
  }

 private:
  std::shared_ptr<ClientCall> call_;
};

}  // namespace courier

#endif  // COURIER_CHANNEL_H_

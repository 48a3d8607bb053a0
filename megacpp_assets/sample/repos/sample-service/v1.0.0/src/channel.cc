// Copyright 2026 The megacpp_assets authors.
// SPDX-License-Identifier: Apache-2.0
#include "courier/channel.h"

namespace courier {
namespace {

std::uint64_t MicrosUntil(Deadline deadline) {
  using std::chrono::microseconds;
  if (deadline == NoDeadline()) return 0;
  const auto left =
      std::chrono::duration_cast<microseconds>(deadline - Clock::now());
  return left.count() > 0 ? static_cast<std::uint64_t>(left.count()) : 1;
}

}  // namespace

/// Ends a call from within the queue; nobody outside sees the alarm itself.
class ClientCall::DeadlineAlarm : public Completion {
 public:
  explicit DeadlineAlarm(std::weak_ptr<ClientCall> call)
      : call_(std::move(call)) {}

  bool Finalize(void**, bool*) override {
    if (auto call = call_.lock()) {
      call->Complete(Status(Code::kDeadlineExceeded, "deadline passed"), {});
    }
    return false;
  }

 private:
  std::weak_ptr<ClientCall> call_;
};

void ClientCall::Start(const ClientContext& context, CallInfo info,
                       std::string payload) {
  info_ = std::move(info);
  const Status admitted = channel_->interceptors_.Start(&info_, &entered_);
  {
    std::lock_guard<std::mutex> lock(mutex_);
    state_ = State::kSent;
    id_ = channel_->Track(shared_from_this());
    if (context.deadline != NoDeadline()) {
      alarm_ = queue_->PostAt(
          context.deadline, std::make_shared<DeadlineAlarm>(shared_from_this()));
      has_alarm_ = true;
    }
  }
  if (!admitted.ok()) return Complete(admitted, {});
  Frame frame;
  frame.kind = Frame::Kind::kRequest;
  frame.call_id = id_;
  frame.method = info_.method;
  frame.timeout_us = MicrosUntil(context.deadline);
  frame.metadata = info_.metadata;
  frame.payload = std::move(payload);
  if (!channel_->endpoint_->Send(frame.Serialize())) {
    Complete(Status(Code::kUnavailable, "the server is gone"), {});
  }
}

void ClientCall::Complete(Status status, std::string payload) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (state_ != State::kSent) return;
    state_ = State::kDone;
    status_ = std::move(status);
    payload_ = std::move(payload);
    if (has_alarm_) queue_->CancelAlarm(alarm_);
  }
  // Holds the call until it is in the queue's hands.
  const std::shared_ptr<ClientCall> self = shared_from_this();
  channel_->Untrack(id_);
  channel_->interceptors_.Finish(info_, status_, entered_);
  queue_->Post(self, status_.ok());
}

void ClientCall::Cancel() {
  // First on this side, so that a reply provoked by the frame comes too late.
  Complete(Status(Code::kCancelled, "cancelled by the caller"), {});
  Frame frame;
  frame.kind = Frame::Kind::kCancel;
  frame.call_id = id_;
  channel_->endpoint_->Send(frame.Serialize());
}

bool ClientCall::Finalize(void** tag, bool* ok) {
  *tag = tag_;
  *ok = status_.ok();
  return true;
}

Channel::Channel(std::unique_ptr<Endpoint> endpoint)
    : endpoint_(std::move(endpoint)) {
  endpoint_->Receive([this](const std::string& bytes) { OnBytes(bytes); });
}

Channel::~Channel() {
  endpoint_->Close();
  std::map<std::uint64_t, std::shared_ptr<ClientCall>> orphans;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    orphans.swap(active_);
  }
  for (auto& [id, call] : orphans) {
    call->Complete(Status(Code::kUnavailable, "the channel was closed"), {});
  }
}

std::uint64_t Channel::Track(std::shared_ptr<ClientCall> call) {
  std::lock_guard<std::mutex> lock(mutex_);
  active_.emplace(next_id_, std::move(call));
  return next_id_++;
}

std::shared_ptr<ClientCall> Channel::Untrack(std::uint64_t id) {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto it = active_.find(id);
  if (it == active_.end()) return nullptr;
  std::shared_ptr<ClientCall> call = std::move(it->second);
  active_.erase(it);
  return call;
}

void Channel::OnBytes(const std::string& bytes) {
  Frame frame;
  if (!frame.Parse(bytes) || frame.kind != Frame::Kind::kReply) return;
  // A late reply finds nothing: the call has ended some other way.
  if (auto call = Untrack(frame.call_id)) {
    call->Complete(frame.status, std::move(frame.payload));
  }
}

std::shared_ptr<ClientCall> Channel::StartCall(const ClientContext& context,
                                               const std::string& method,
                                               std::string payload,
                                               CompletionQueue* queue,
                                               void* tag) {
  auto call = std::make_shared<ClientCall>(this, queue, tag);
  call->Start(context, CallInfo{method, context.metadata}, std::move(payload));
  return call;
}

Status Channel::BlockingCall(const ClientContext& context,
                             const std::string& method, const Message& request,
                             Message* reply) {
  CompletionQueue queue;
  const auto call =
      StartCall(context, method, request.Serialize(), &queue, nullptr);
  void* tag = nullptr;
  bool ok = false;
  queue.Next(&tag, &ok);
  if (ok && !reply->Parse(call->payload())) {
    return Status(Code::kInvalidArgument, "malformed reply");
  }
  return call->status();
}

}  // namespace courier

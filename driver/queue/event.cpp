// Completion against callback registration.
#include "driver/queue/event.hpp"

#include "driver/queue/timeline.hpp"

namespace weft::driver {

std::list<DueCallback> Event::complete(Ending ending) noexcept {
  ending_ = std::move(ending);
  resources_.clear();  // before anybody can see that it is done: what the command used is free by then
  owed_.reset();
  const std::lock_guard lock(mutex_);
  done_.store(true, std::memory_order_release);  // pairs with done()
  return std::move(callback_);
}

void Event::set_wait(std::shared_ptr<const Timeline> timeline, uint64_t value) {
  awaited_ = std::move(timeline);
  awaited_value_ = value;
}

bool Event::waits() const { return awaited_ != nullptr && !awaited_->failed() && awaited_->value() < awaited_value_; }

std::string Event::waits_for() const { return waits() ? awaited_->describe_wait(awaited_value_) : std::string(); }

std::string Event::report() const {
  const std::lock_guard lock(mutex_);
  return report_;
}

void Event::set_report(std::string path) const {
  const std::lock_guard lock(mutex_);
  report_ = std::move(path);
}

Event::CallbackResult Event::set_callback(std::list<DueCallback>& callback) {
  const std::lock_guard lock(mutex_);
  if (has_callback_) return CallbackResult::kTaken;
  has_callback_ = true;
  if (done()) return CallbackResult::kDue;
  callback.front().event.reset();  // an event does not own itself
  callback_.splice(callback_.end(), callback);
  return CallbackResult::kRegistered;
}

}  // namespace weft::driver

// Completion against callback registration.
#include "driver/queue/event.hpp"

namespace weft::driver {

std::optional<Event::Callback> Event::complete(Ending ending) {
  ending_ = std::move(ending);
  std::vector<std::shared_ptr<const void>> resources;
  resources.swap(resources_);  // destroyed outside of the lock
  const std::lock_guard lock(mutex_);
  done_.store(true, std::memory_order_release);  // pairs with done()
  return std::exchange(callback_, std::nullopt);
}

std::string Event::report() const {
  const std::lock_guard lock(mutex_);
  return report_;
}

void Event::set_report(std::string path) const {
  const std::lock_guard lock(mutex_);
  report_ = std::move(path);
}

Event::CallbackResult Event::set_callback(const Callback& callback) {
  const std::lock_guard lock(mutex_);
  if (has_callback_) return CallbackResult::kTaken;
  has_callback_ = true;
  if (done()) return CallbackResult::kDue;
  callback_ = callback;
  return CallbackResult::kRegistered;
}

}  // namespace weft::driver

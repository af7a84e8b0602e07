// What a tenant can reach beside its function: observers' socket and the folder of the sockets.
#include <fcntl.h>
#include <fmt/format.h>
#include <grp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <fstream>

#include "testbench/tenant/tenant.hpp"

namespace weft::tenant {
namespace {

/// Sends text to the observers' socket and takes what comes within `patience_ms`.
bool ask(RawClient& observer, const std::string& text, int patience_ms) {
  const auto bytes = std::as_bytes(std::span(text));
  const bool sent = observer.send(bytes) == bytes.size();
  pollfd p{observer.fd(), POLLIN, 0};
  if (::poll(&p, 1, patience_ms) == 1) {
    std::byte taken[65536];
    (void)!::recv(observer.fd(), taken, sizeof taken, MSG_DONTWAIT);
  }
  return sent;
}

bool observers(Tenant& tenant) {
  bool acted = false;
  for (uint64_t i = tenant.random.between(5, 40); i != 0; i--) {
    RawClient observer(tenant.stage().management());
    if (!observer.valid()) continue;
    switch (tenant.random.below(5)) {
      case 0:
        acted |= ask(observer, "{\"weft_management\":1,\"request\":\"state\"}\n", 30);
        break;
      case 1:
        acted |= ask(observer, std::string(tenant.random.between(1, 20000), '{'), 0);
        break;
      case 2:
        acted |= ask(
            observer,
            "{\"weft_management\":1,\"request\":\"function\",\"function\":" + std::to_string(tenant.random.below(20)) +
                ",\"entries\":" + std::to_string(tenant.random.odd_value()) + "}\n",
            10);
        break;
      case 3:  // many questions whose answers are not read
        for (unsigned k = 0; k < 50; k++)
          acted |= ask(observer, "{\"weft_management\":1,\"request\":\"function\",\"function\":0,\"entries\":32}\n", 0);
        break;
      default:
        break;
    }
    if (tenant.random.one_in(2)) tenant.keep(std::move(observer));
  }
  return acted;
}

constexpr const char* kBreakLink = R"({"weft_management":1,"request":"inject","kind":"link_down","port":0})";

std::string reset_of(unsigned function) {
  return fmt::format(R"({{"weft_management":1,"request":"reset","function":{},"force":true}})", function);
}

/// Resets its own functions, and with `others` the neighbours' as well.
bool order(const Stage& stage, bool others) {
  RawClient observer(stage.management());
  if (!observer.valid()) return false;
  bool acted = ask(observer, std::string(kBreakLink) + "\n", 30);
  for (unsigned f = others ? 0 : stage.first_hostile; f < stage.functions; f++)
    acted |= ask(observer, reset_of(f) + "\n", 30);
  return acted;
}

/// Orders of an observer of the server's own user, who may reset what is not owned.
bool orders(Tenant& tenant) { return order(tenant.stage(), tenant.stage().hostile_management); }

/// The same orders, and clients, of a user who is neither the server's nor the neighbours'. The server's folder need
/// not let him in: then that was the act.
bool foreign_user(Tenant& tenant) {
  constexpr uid_t kNobody = 65534;
  if (::geteuid() != 0) return false;
  const Stage& stage = tenant.stage();
  const pid_t child = ::fork();
  if (child == 0) {
    if (::setgroups(0, nullptr) != 0 || ::setgid(kNobody) != 0 || ::setuid(kNobody) != 0) ::_exit(1);
    (void)order(stage, true);
    for (unsigned f = 0; f < stage.functions; f++) {
      RawClient client(stage.socket(f));
      if (!client.valid() || client.negotiate(100) != 0) continue;
      (void)client.write(kBar0, WEFT_REG_SIM_HOLD, 1, 4);
      (void)client.write(kBar0, WEFT_REG_INJECT_KIND, WEFT_INJECTED_FAULT_FIRMWARE_DEAD, 4);
      (void)client.write(kBar0, WEFT_REG_INJECT_NTH, 1, 4);
      (void)client.write(kBar0, WEFT_REG_INJECT_COUNT, 1, 4);
      (void)client.write(kBar0, WEFT_REG_INJECT_CONTROL, 1, 4);
    }
    (void)::unlink(stage.socket(0).c_str());
    ::_exit(0);
  }
  int status = 1;
  return child > 0 && ::waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/// The file that tells an owner, as a link to a file of somebody else.
bool owner_link(Tenant& tenant) {
  const std::string victim = tenant.stage().folder + "/precious";
  std::ofstream(victim) << "precious";
  for (unsigned f = tenant.stage().first_hostile; f < tenant.stage().functions; f++) {
    const std::string owner = tenant.stage().socket(f) + ".owner";
    (void)::symlink(victim.c_str(), owner.c_str());
  }
  RawClient client = tenant.spare();
  const bool acted = client.valid();
  tenant.keep(std::move(client));
  std::string now;
  std::getline(std::ifstream(victim), now);
  if (now != "precious") tenant.complain("a link named .owner was followed: the file behind it was overwritten");
  for (unsigned f = tenant.stage().first_hostile; f < tenant.stage().functions; f++) {
    const std::string owner = tenant.stage().socket(f) + ".owner";
    struct stat file {};
    if (::lstat(owner.c_str(), &file) == 0 && S_ISLNK(file.st_mode)) (void)::unlink(owner.c_str());
  }
  (void)::unlink(victim.c_str());
  return acted;
}

constexpr Attack kAttacks[] = {
    {"observers", 4, observers, "observers that ask much, wrongly, and read nothing"},
    {"orders", 2, orders, "requests to reset functions and to break links"},
    {"foreign_user", 2, foreign_user, "orders and clients of another user (root only)"},
    {"owner_link", 2, owner_link, "a symbolic link in place of the owner's file"},
};

}  // namespace

std::span<const Attack> outside_attacks() { return kAttacks; }

}  // namespace weft::tenant

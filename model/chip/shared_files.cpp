// fcntl(2), fstat(2) and mmap(2) of what tenants send.
#include "model/chip/shared_files.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <utility>

#include "model/chip/tenant_limits.hpp"

namespace weft::chip {
namespace {

namespace limits = tenant_limits;

constexpr uint64_t kPageBytes = 4096;

/// Mappings that the tenants of this process can have together.
uint64_t all_files() {
  constexpr uint64_t kUsual = 65530, kLeast = 1024;
  uint64_t most = kUsual;
  std::ifstream("/proc/sys/vm/max_map_count") >> most;
  return most > limits::kOwnMappings + kLeast ? most - limits::kOwnMappings : kLeast;
}

/// What there is to know of a descriptor, without an access that its file system could delay.
struct Kind {
  int error = 0;
  bool readable = false;
  bool writable = false;
  struct stat status {};
};

Kind kind_of(int fd) {
  Kind kind;
  // Only files of tmpfs and hugetlbfs (memfd_create makes such) have seals. Asked first: fstat() of a file of another
  // file system may wait for as long as its server likes.
  const int seals = ::fcntl(fd, F_GET_SEALS);
  const int flags = ::fcntl(fd, F_GETFL);
  if (seals < 0 || flags < 0 || ::fstat(fd, &kind.status) != 0 || !S_ISREG(kind.status.st_mode)) {
    kind.error = EPERM;
    return kind;
  }
  kind.readable = (flags & O_ACCMODE) != O_WRONLY;
  kind.writable = (flags & O_ACCMODE) == O_RDWR && (seals & (F_SEAL_WRITE | F_SEAL_FUTURE_WRITE)) == 0;
  return kind;
}

}  // namespace

HostMemoryShares::HostMemoryShares(size_t tenants)
    : bytes(limits::kAllFileBytes, tenants, limits::kMappedBytes), files(all_files(), tenants, limits::kFiles) {}

SharedFile::~SharedFile() {
  if (data_ != nullptr) ::munmap(data_, bytes_);
  shares_->bytes.give(tenant_, bytes_);
  if (counted_) shares_->files.give(tenant_, 1);
}

int SharedFile::remap(int fd, uint64_t first, uint64_t bytes) {
  const uint64_t more = bytes - bytes_;
  if (!shares_->bytes.take(tenant_, more)) return EFBIG;
  // A huge page is reserved when it is touched: a mapping alone must not take the machine's.
  void* data = ::mmap(nullptr, bytes, PROT_READ | (key_.writable ? PROT_WRITE : 0), MAP_SHARED | MAP_NORESERVE, fd,
                      static_cast<off_t>(first));
  if (data == MAP_FAILED) {
    const int error = errno;
    shares_->bytes.give(tenant_, more);
    return error;
  }
  if (data_ != nullptr) ::munmap(data_, bytes_);
  data_ = static_cast<std::byte*>(data);
  first_ = first;
  bytes_ = bytes;
  return 0;
}

int SharedFile::grow(int fd, uint64_t offset, uint64_t bytes, uint64_t size, uint64_t page) {
  uint64_t first = offset, end = offset + bytes;
  if (bytes_ != 0) first = std::min(first, first_), end = std::max(end, first_ + bytes_);
  first -= first % page;
  const uint64_t size_in_pages = (size + page - 1) / page * page;
  end = std::min((end + page - 1) / page * page, std::max(end, size_in_pages));
  if (bytes_ == 0) return remap(fd, first, end - first);
  // Twice as much each time, towards both ends of the file: a guest maps its memory page by page.
  const uint64_t reserve = (end - first + page - 1) / page * page;
  const uint64_t wide_first = first - std::min(first, reserve);
  const uint64_t wide_end = std::max(end, std::min(size_in_pages, end + reserve));
  if (remap(fd, wide_first, wide_end - wide_first) == 0) return 0;
  return remap(fd, first, end - first);
}

SharedFiles::SharedFiles() : shares_(std::make_shared<HostMemoryShares>(1)) {}

void SharedFiles::share(std::shared_ptr<HostMemoryShares> shares, size_t tenant) {
  shares_ = std::move(shares);
  tenant_ = tenant;
}

int SharedFiles::cover(int fd, uint64_t offset, uint64_t bytes, bool write, std::shared_ptr<SharedFile>& file) {
  const Kind kind = kind_of(fd);
  if (kind.error != 0) return kind.error;
  if (!kind.readable || (write && !kind.writable)) return EACCES;
  const auto size = static_cast<uint64_t>(kind.status.st_size);
  if (offset > size || bytes > size - offset) return EINVAL;

  const SharedFile::Key key{kind.status.st_dev, kind.status.st_ino, kind.writable};
  const auto known = files_.find(key);
  auto found = known != files_.end() ? known->second : std::make_shared<SharedFile>(key, shares_, tenant_);
  if (!found->covers(offset, bytes)) {
    if (!found->counted_ && !shares_->files.take(tenant_, 1)) return EMFILE;
    found->counted_ = true;
    const uint64_t page = std::max(kPageBytes, static_cast<uint64_t>(kind.status.st_blksize));
    if (const int error = found->grow(fd, offset, bytes, size, page); error != 0) return error;
  }
  if (known == files_.end()) files_.emplace(key, found);
  file = std::move(found);
  return 0;
}

void SharedFiles::release(std::shared_ptr<SharedFile> file) {
  if (file != nullptr && file.use_count() == 2) files_.erase(file->key_);  // the table's and this one
}

}  // namespace weft::chip

#include "powerloss_vfs.h"

#include "base/arena.h"
#include "base/random.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <unistd.h>

enum { SECTOR = 512, FILES_MAX = 8, NAME_MAX_LEN = 512, SHM_REGIONS_MAX = 64 };

typedef struct Image {
    uint8_t *at;
    size_t size, room;
    bool exists;
} Image;

typedef struct DiskFile {
    char name[NAME_MAX_LEN];
    Image view, disk;
    bool is_new; // made since the last sync: the disk has none, or another of this name
    bool *dirty; // by sector: written and not synced
    size_t dirty_room;
    int sharers; // connections that hold a lock
    int mappers; // connections that see the shared memory
    void *shm[SHM_REGIONS_MAX];
} DiskFile;

// Open is what SQLite holds of an open file.
typedef struct Open {
    sqlite3_file base;
    DiskFile *file;
    bool is_sharer, is_mapper;
} Open;

static struct {
    DiskFile files[FILES_MAX];
    long calls;
    bool is_cut;
    void (*watch)(long number, PowerlossCall call, const char *file);
    const char *failing_sync; // suffix of the file whose next sync fails
    int failing_errno, last_errno;
    Random random; // of SQLite itself: salts of the log
} disk;

static void grow(Image *image, size_t size)
{
    if (size > image->room) {
        size_t room = size + size / 2 + 65536;
        image->at = memory_grow(image->at, room);
        memset(image->at + image->room, 0, room - image->room);
        image->room = room;
    }
}

// resize keeps what lies behind the end zero, so that growing again shows zeroes.
static void resize(Image *image, size_t size)
{
    grow(image, size);
    if (size < image->size)
        memset(image->at + size, 0, image->size - size);
    image->size = size;
}

static void mark(DiskFile *file, size_t from, size_t to)
{
    size_t needed = to / SECTOR + 1;
    if (needed > file->dirty_room) {
        file->dirty = memory_grow(file->dirty, needed * 2);
        memset(file->dirty + file->dirty_room, 0, needed * 2 - file->dirty_room);
        file->dirty_room = needed * 2;
    }
    for (size_t sector = from / SECTOR; sector * SECTOR < to; sector++)
        file->dirty[sector] = true;
}

static const char *base_name(const char *name)
{
    const char *slash = strrchr(name, '/');
    return slash ? slash + 1 : name;
}

static DiskFile *find(const char *path, bool make)
{
    const char *name = base_name(path);
    for (size_t i = 0; i < FILES_MAX; i++)
        if (strcmp(disk.files[i].name, name) == 0)
            return &disk.files[i];
    for (size_t i = 0; make && i < FILES_MAX; i++) {
        if (disk.files[i].name[0])
            continue;
        snprintf(disk.files[i].name, sizeof disk.files[i].name, "%s", name);
        return &disk.files[i];
    }
    assert(!make);
    return NULL;
}

// happens counts a call that changes a file; false when the power is off.
static bool happens(PowerlossCall call, const char *name)
{
    if (disk.is_cut)
        return false;
    disk.calls++;
    if (disk.watch)
        disk.watch(disk.calls, call, name);
    return !disk.is_cut; // the watcher may have cut it
}

// sector_length is how much of a sector lies within this size.
static size_t sector_length(size_t sector, size_t size)
{
    size_t at = sector * SECTOR;
    return at >= size ? 0 : size - at < SECTOR ? size - at : SECTOR;
}

// tear mixes the old sector with the new one: the head of the write arrived, or every changed byte
// is noise.
static void tear(uint8_t *old, const uint8_t *new, size_t len, Random *random)
{
    uint64_t chance = random_u64(random);
    size_t head = (size_t) (chance >> 1) % len;
    for (size_t i = 0; i < len; i++) {
        if (chance & 1)
            old[i] = i < head ? new[i] : old[i];
        else if (old[i] != new[i])
            old[i] = (uint8_t) random_u64(random);
    }
}

// Found is what is found of a file after the power was cut: an old image, cut or filled up to a
// size, and the sectors of the view that arrived.
typedef struct Found {
    const Image *old;
    bool exists;
    size_t size;
    void (*put)(void *with, size_t at, const uint8_t *bytes, size_t len); // takes a sector
    void *with;
} Found;

static void put_sector(const DiskFile *file, size_t sector, bool is_torn, Random *random,
                       const Found *found)
{
    uint8_t bytes[SECTOR] = { 0 };
    const uint8_t *new = file->view.at + sector *SECTOR;
    size_t len = sector_length(sector, file->view.size);
    size_t room = sector_length(sector, found->size);
    len = len < room ? len : room;
    if (len == 0)
        return;
    if (!is_torn) {
        found->put(found->with, sector * SECTOR, new, len);
        return;
    }
    size_t there = sector_length(sector, found->old->size);
    if (there)
        memcpy(bytes, found->old->at + sector * SECTOR, there < len ? there : len);
    tear(bytes, new, len, random);
    found->put(found->with, sector * SECTOR, bytes, len);
}

// arrive brings some of the unsynced sectors of a file to the disk.
static void arrive(const DiskFile *file, PowerlossFate fate, Random *random, const Found *found)
{
    for (size_t sector = 0; sector < file->dirty_room; sector++) {
        if (!file->dirty[sector])
            continue;
        uint64_t chance = fate == POWERLOSS_CHANCE ? random_u64(random) % 8 : 0;
        if (chance < 4 || chance == 7)
            put_sector(file, sector, chance == 7, random, found);
    }
}

// outcome decides what is found of a file, but for the sectors.
static Found outcome(const DiskFile *file, PowerlossFate fate, Random *random)
{
    static const Image nothing;
    bool arrives = fate == POWERLOSS_KEEP || (fate == POWERLOSS_CHANCE && random_u64(random) & 1);
    bool resizes = fate == POWERLOSS_KEEP || (fate == POWERLOSS_CHANCE && random_u64(random) & 1);
    bool is_replaced = file->is_new && arrives;
    Found found = { .old = is_replaced ? &nothing : &file->disk, .exists = file->disk.exists };
    if (!file->view.exists) // deleted, or never there
        found.exists = found.exists && !arrives;
    else if (is_replaced)
        found.exists = true;
    found.size = resizes && file->view.exists ? file->view.size : found.old->size;
    return found;
}

// has_arrivals is false for what is gone, or stays as it was on the disk.
static bool has_arrivals(const DiskFile *file, PowerlossFate fate, const Found *found)
{
    bool is_other = file->is_new && found->old == &file->disk;
    return fate != POWERLOSS_DROP && file->view.exists && found->exists && !is_other;
}

static void put_in_image(void *with, size_t at, const uint8_t *bytes, size_t len)
{
    Image *image = with;
    memcpy(image->at + at, bytes, len);
}

static void put_in_file(void *with, size_t at, const uint8_t *bytes, size_t len)
{
    ssize_t wrote = pwrite(*(const int *) with, bytes, len, (off_t) at);
    assert(wrote == (ssize_t) len);
}

static void copy(Image *to, const Image *from, size_t size)
{
    resize(to, 0);
    resize(to, size);
    size_t len = from->size < size ? from->size : size;
    if (len)
        memcpy(to->at, from->at, len);
}

static void forget_dirt(DiskFile *file)
{
    if (file->dirty)
        memset(file->dirty, 0, file->dirty_room);
}

static void lose_shm(DiskFile *file)
{
    for (size_t i = 0; i < SHM_REGIONS_MAX; i++) {
        free(file->shm[i]);
        file->shm[i] = NULL;
    }
}

void powerloss_restore(PowerlossFate fate, uint64_t seed)
{
    Random random = random_seeded(seed);
    for (size_t i = 0; i < FILES_MAX; i++) {
        DiskFile *file = &disk.files[i];
        Image image = { 0 };
        Found found = outcome(file, fate, &random);
        found.put = put_in_image;
        found.with = &image;
        copy(&image, found.old, found.size);
        if (has_arrivals(file, fate, &found))
            arrive(file, fate, &random, &found);
        copy(&file->disk, &image, image.size);
        copy(&file->view, &image, image.size);
        file->disk.exists = file->view.exists = found.exists;
        free(image.at);
        file->is_new = false;
        forget_dirt(file);
        lose_shm(file);
    }
    disk.is_cut = false;
    disk.calls = 0;
}

static void save(const DiskFile *file, const char *path, PowerlossFate fate, Random *random)
{
    Found found = outcome(file, fate, random);
    if (!found.exists)
        return;
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    assert(fd >= 0);
    size_t len = found.old->size < found.size ? found.old->size : found.size;
    if (len)
        put_in_file(&fd, 0, found.old->at, len);
    if (ftruncate(fd, (off_t) found.size) != 0)
        abort();
    found.put = put_in_file;
    found.with = &fd;
    if (has_arrivals(file, fate, &found))
        arrive(file, fate, random, &found);
    close(fd);
}

void powerloss_save(const char *folder, PowerlossFate fate, uint64_t seed)
{
    Random random = random_seeded(seed);
    for (size_t i = 0; i < FILES_MAX; i++) {
        char path[2 * NAME_MAX_LEN];
        snprintf(path, sizeof path, "%s/%s", folder, disk.files[i].name);
        if (disk.files[i].name[0])
            save(&disk.files[i], path, fate, &random);
    }
}

void powerloss_watch(void (*watch)(long number, PowerlossCall call, const char *file))
{
    disk.watch = watch;
}

void powerloss_cut(void)
{
    disk.is_cut = true;
}

void powerloss_fail_sync(const char *suffix, int number)
{
    disk.failing_sync = suffix;
    disk.failing_errno = number;
}

void powerloss_forget(void)
{
    for (size_t i = 0; i < FILES_MAX; i++) {
        DiskFile *file = &disk.files[i];
        lose_shm(file);
        free(file->view.at);
        free(file->disk.at);
        free(file->dirty);
        *file = (DiskFile){ 0 };
    }
    disk.calls = 0;
    disk.is_cut = false;
    disk.watch = NULL;
    disk.failing_sync = NULL;
    disk.random = random_seeded(1);
}

// The methods of an open file.

static int io_close(sqlite3_file *base)
{
    Open *self = (Open *) base;
    self->file->sharers -= self->is_sharer;
    return SQLITE_OK;
}

static int io_read(sqlite3_file *base, void *to, int amount, sqlite3_int64 offset)
{
    const Image *view = &((Open *) base)->file->view;
    size_t at = (size_t) offset, wanted = (size_t) amount;
    if (disk.is_cut)
        return SQLITE_IOERR_READ;
    size_t there = at >= view->size ? 0 : view->size - at;
    size_t got = there < wanted ? there : wanted;
    if (got)
        memcpy(to, view->at + at, got);
    if (got == wanted)
        return SQLITE_OK;
    memset((char *) to + got, 0, wanted - got);
    return SQLITE_IOERR_SHORT_READ;
}

static int io_write(sqlite3_file *base, const void *from, int amount, sqlite3_int64 offset)
{
    DiskFile *file = ((Open *) base)->file;
    size_t at = (size_t) offset, len = (size_t) amount;
    if (!happens(POWERLOSS_WRITE, file->name))
        return SQLITE_IOERR_WRITE;
    if (at + len > file->view.size)
        resize(&file->view, at + len);
    memcpy(file->view.at + at, from, len);
    mark(file, at, at + len);
    return SQLITE_OK;
}

static int io_truncate(sqlite3_file *base, sqlite3_int64 size)
{
    DiskFile *file = ((Open *) base)->file;
    if (!happens(POWERLOSS_TRUNCATE, file->name))
        return SQLITE_IOERR_TRUNCATE;
    resize(&file->view, (size_t) size);
    return SQLITE_OK;
}

static bool fails_now(const DiskFile *file)
{
    if (!disk.failing_sync || !str_ends(str_from(file->name), str_from(disk.failing_sync)))
        return false;
    disk.failing_sync = NULL;
    return true;
}

// sync_names makes what was made and deleted in the folder durable. SQLite's own VFS does this
// with the first sync of a new log or journal.
static void sync_names(void)
{
    for (size_t i = 0; i < FILES_MAX; i++) {
        DiskFile *file = &disk.files[i];
        if (!file->view.exists || file->is_new)
            resize(&file->disk, 0);
        file->disk.exists = file->view.exists;
        file->is_new = false;
    }
}

static int io_sync(sqlite3_file *base, int flags)
{
    DiskFile *file = ((Open *) base)->file;
    (void) flags;
    if (!happens(POWERLOSS_SYNC, file->name))
        return SQLITE_IOERR_FSYNC;
    if (fails_now(file)) {
        Random random = random_seeded((uint64_t) disk.calls);
        Found found = { &file->disk, true, file->disk.size, put_in_image, &file->disk };
        arrive(file, POWERLOSS_CHANCE, &random, &found);
        forget_dirt(file);
        disk.last_errno = errno = disk.failing_errno;
        return SQLITE_IOERR_FSYNC;
    }
    if (file->is_new)
        sync_names();
    resize(&file->disk, file->view.size);
    for (size_t sector = 0; sector < file->dirty_room; sector++)
        if (file->dirty[sector])
            memcpy(file->disk.at + sector * SECTOR, file->view.at + sector * SECTOR,
                   sector_length(sector, file->view.size));
    forget_dirt(file);
    return SQLITE_OK;
}

static int io_size(sqlite3_file *base, sqlite3_int64 *ret)
{
    *ret = (sqlite3_int64) ((Open *) base)->file->view.size;
    return disk.is_cut ? SQLITE_IOERR_FSTAT : SQLITE_OK;
}

static void share(Open *self, bool is_sharer)
{
    self->file->sharers += is_sharer - self->is_sharer;
    self->is_sharer = is_sharer;
}

static int io_lock(sqlite3_file *base, int level)
{
    Open *self = (Open *) base;
    if (disk.is_cut)
        return SQLITE_IOERR_LOCK;
    if (level == SQLITE_LOCK_EXCLUSIVE && self->file->sharers > self->is_sharer)
        return SQLITE_BUSY;
    share(self, true);
    return SQLITE_OK;
}

static int io_unlock(sqlite3_file *base, int level)
{
    share((Open *) base, level != SQLITE_LOCK_NONE);
    return disk.is_cut ? SQLITE_IOERR_UNLOCK : SQLITE_OK;
}

static int io_check_lock(sqlite3_file *base, int *ret)
{
    (void) base;
    *ret = 0;
    return SQLITE_OK;
}

static int io_control(sqlite3_file *base, int op, void *with)
{
    (void) base;
    (void) op;
    (void) with;
    return SQLITE_NOTFOUND;
}

static int io_sector(sqlite3_file *base)
{
    (void) base;
    return SECTOR;
}

// io_traits says what the system's own VFS says of an ordinary file.
static int io_traits(sqlite3_file *base)
{
    (void) base;
    return SQLITE_IOCAP_POWERSAFE_OVERWRITE;
}

static int io_shm_map(sqlite3_file *base, int region, int size, int extend, void volatile **ret)
{
    Open *self = (Open *) base;
    DiskFile *file = self->file;
    assert(region < SHM_REGIONS_MAX);
    file->mappers += !self->is_mapper;
    self->is_mapper = true;
    if (!file->shm[region] && extend)
        file->shm[region] = memory_new((size_t) size);
    *ret = file->shm[region];
    return disk.is_cut ? SQLITE_IOERR_SHMMAP : SQLITE_OK;
}

static int io_shm_lock(sqlite3_file *base, int offset, int count, int flags)
{
    (void) base;
    (void) offset;
    (void) count;
    (void) flags;
    return disk.is_cut ? SQLITE_IOERR_SHMLOCK : SQLITE_OK;
}

static void io_shm_barrier(sqlite3_file *base)
{
    (void) base;
}

static int io_shm_unmap(sqlite3_file *base, int deletes)
{
    Open *self = (Open *) base;
    (void) deletes;
    self->file->mappers -= self->is_mapper;
    self->is_mapper = false;
    if (self->file->mappers == 0)
        lose_shm(self->file);
    return SQLITE_OK;
}

static const sqlite3_io_methods methods = {
    .iVersion = 2,
    .xClose = io_close,
    .xRead = io_read,
    .xWrite = io_write,
    .xTruncate = io_truncate,
    .xSync = io_sync,
    .xFileSize = io_size,
    .xLock = io_lock,
    .xUnlock = io_unlock,
    .xCheckReservedLock = io_check_lock,
    .xFileControl = io_control,
    .xSectorSize = io_sector,
    .xDeviceCharacteristics = io_traits,
    .xShmMap = io_shm_map,
    .xShmLock = io_shm_lock,
    .xShmBarrier = io_shm_barrier,
    .xShmUnmap = io_shm_unmap,
};

// The methods of the disk.

static int vfs_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *base, int flags, int *ret)
{
    Open *self = (Open *) base;
    (void) vfs;
    *self = (Open){ 0 };
    if (disk.is_cut)
        return SQLITE_CANTOPEN;
    assert(name); // temporary files are in memory
    self->file = find(name, true);
    if (!self->file->view.exists && !(flags & SQLITE_OPEN_CREATE))
        return SQLITE_CANTOPEN;
    self->file->is_new |= !self->file->view.exists;
    self->file->view.exists = true;
    self->base.pMethods = &methods;
    if (ret)
        *ret = flags;
    return SQLITE_OK;
}

static int vfs_delete(sqlite3_vfs *vfs, const char *name, int is_synced)
{
    (void) vfs;
    DiskFile *file = find(name, false);
    if (!happens(POWERLOSS_DELETE, name))
        return SQLITE_IOERR_DELETE;
    if (!file || !file->view.exists)
        return SQLITE_IOERR_DELETE_NOENT;
    resize(&file->view, 0);
    file->view.exists = false;
    forget_dirt(file);
    if (is_synced) {
        resize(&file->disk, 0);
        file->disk.exists = false;
    }
    return SQLITE_OK;
}

static int vfs_access(sqlite3_vfs *vfs, const char *name, int flags, int *ret)
{
    (void) vfs;
    const DiskFile *file = find(name, false);
    *ret = file && file->view.exists && (flags != SQLITE_ACCESS_EXISTS || file->view.size > 0);
    return disk.is_cut ? SQLITE_IOERR_ACCESS : SQLITE_OK;
}

static int vfs_path(sqlite3_vfs *vfs, const char *name, int room, char *ret)
{
    (void) vfs;
    return snprintf(ret, (size_t) room, "%s", name) < room ? SQLITE_OK : SQLITE_CANTOPEN;
}

static int vfs_random(sqlite3_vfs *vfs, int amount, char *ret)
{
    (void) vfs;
    random_fill(&disk.random, ret, (size_t) amount);
    return amount;
}

static int vfs_pause(sqlite3_vfs *vfs, int microseconds)
{
    (void) vfs;
    return microseconds;
}

static int vfs_time(sqlite3_vfs *vfs, double *ret)
{
    (void) vfs;
    *ret = 2461175.0;
    return SQLITE_OK;
}

static int vfs_last_error(sqlite3_vfs *vfs, int room, char *ret)
{
    (void) vfs;
    if (room > 0 && ret)
        *ret = '\0';
    return disk.last_errno;
}

void powerloss_register(void)
{
    static sqlite3_vfs vfs = {
        .iVersion = 1,
        .szOsFile = sizeof(Open),
        .mxPathname = NAME_MAX_LEN,
        .zName = "powerloss",
        .xOpen = vfs_open,
        .xDelete = vfs_delete,
        .xAccess = vfs_access,
        .xFullPathname = vfs_path,
        .xRandomness = vfs_random,
        .xSleep = vfs_pause,
        .xCurrentTime = vfs_time,
        .xGetLastError = vfs_last_error,
    };
    powerloss_forget();
    sqlite3_vfs_register(&vfs, 0);
}

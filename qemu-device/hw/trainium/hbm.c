/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Backing store of HBM, of the PREPROC blocks and of the cores' SBUFs.
 *
 * A stack is a memfd, mapped without reservation: 96 GiB cost nothing until
 * they are written, and another process can map the same pages. "Untouched"
 * is what the kernel says (SEEK_DATA), because the guest's CPUs write through
 * BAR4 without our knowledge. One bit per 2 MiB keeps the question off the
 * fast path: a set bit says "may hold data, treat as memory", a clear one
 * "ask". It is only a hint, so it is not migrated and may be set at any time.
 *
 * Software zeroes every buffer before it hands it out. A page of zeros that is
 * copied onto a hole leaves the hole; long runs of zeros onto data give the
 * pages back. Short ones are written, since punching a page and faulting it in
 * again costs more than writing it.
 */
#include "qemu/osdep.h"
#include "qemu/bitmap.h"
#include "qemu/cutils.h"
#include "qemu/madvise.h"
#include "qemu/memfd.h"
#include "qapi/error.h"
#include "exec/ramblock.h"
#include "exec/memory.h"
#include "migration/qemu-file-types.h"
#include "trainium.h"
#include "trace.h"

#include <sys/mman.h>
#include <linux/falloc.h>

#define PAGE 4096u
#define DENSE_SHIFT 21
#define DENSE_SIZE (1ull << DENSE_SHIFT)

/* @at: inside of a range that the caller has and gives back; NULL: anywhere */
static bool store_init(TrnStore *st, const char *name, uint8_t *at,
                       uint64_t size, Error **errp)
{
    st->size = size;
    st->placed = at;
    st->fd = qemu_memfd_create(name, size, false, 0, 0, errp);
    if (st->fd < 0) {
        return false;
    }
    st->ptr = mmap(at, size, PROT_READ | PROT_WRITE,
                   MAP_SHARED | MAP_NORESERVE | (at ? MAP_FIXED : 0), st->fd,
                   0);
    if (st->ptr == MAP_FAILED) {
        st->ptr = NULL;
        error_setg_errno(errp, errno, "cannot map %" PRIu64 " bytes of %s",
                         size, name);
        return false;
    }
    qemu_madvise(st->ptr, size, QEMU_MADV_DONTDUMP);
    st->dense = bitmap_new(DIV_ROUND_UP(size, DENSE_SIZE));
    return true;
}

static void store_exit(TrnStore *st)
{
    if (st->ptr && !st->placed) {
        munmap(st->ptr, st->size);
    }
    if (st->size && st->fd >= 0) {
        close(st->fd);
    }
    g_free(st->dense);
    *st = (TrnStore) { .fd = -1 };
}

bool trn_hbm_init(TrnDevice *d, Error **errp)
{
    unsigned i;

    /*
     * One behind the other, so that BAR4 needs one block of RAM: with many
     * chips, QEMU takes minutes to find places for thousands of blocks.
     */
    d->hbm_range = mmap(NULL, d->hbm_size, PROT_NONE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (d->hbm_range == MAP_FAILED) {
        d->hbm_range = NULL;
        error_setg_errno(errp, errno, "no address space for %" PRIu64
                         " bytes of HBM", d->hbm_size);
        return false;
    }
    for (i = 0; i < d->gen->num_stacks; i++) {
        if (!store_init(&d->hbm[i], "trainium-hbm",
                        d->hbm_range + i * d->stack_size, d->stack_size,
                        errp)) {
            return false;
        }
    }
    /* One store for all: a file descriptor each would be many. */
    return (!d->gen->num_preprocs ||
            store_init(&d->preproc, "trainium-preproc", NULL,
                       (uint64_t)d->gen->num_preprocs * TRN2_PREPROC_SIZE,
                       errp)) &&
           store_init(&d->sbuf, "trainium-sbuf", NULL,
                      (uint64_t)d->gen->num_cores * TRN_TPB_SBUF_SIZE, errp);
}

void trn_hbm_exit(TrnDevice *d)
{
    unsigned i;

    for (i = 0; i < TRN_MAX_STACKS; i++) {
        store_exit(&d->hbm[i]);
    }
    if (d->hbm_range) {
        munmap(d->hbm_range, d->hbm_size);
        d->hbm_range = NULL;
    }
    store_exit(&d->preproc);
    store_exit(&d->sbuf);
}

static void store_set_dense(TrnStore *st, uint64_t offset, uint64_t len)
{
    unsigned long first = offset >> DENSE_SHIFT;
    unsigned long last = (offset + len - 1) >> DENSE_SHIFT;

    for (; first <= last; first++) {
        if (!test_bit(first, st->dense)) {
            set_bit(first, st->dense);
        }
    }
}

/* First byte from @offset on that is not in a hole; @end if there is none */
static uint64_t store_next_data(TrnStore *st, uint64_t offset, uint64_t end)
{
    off_t pos = lseek(st->fd, offset, SEEK_DATA);

    if (pos < 0) {
        /* ENXIO: a hole up to the end. Anything else: assume data. */
        return errno == ENXIO ? end : offset;
    }
    return MIN((uint64_t)pos, end);
}

static bool store_range_is_hole(TrnStore *st, uint64_t offset, uint64_t len)
{
    unsigned long first = offset >> DENSE_SHIFT;
    unsigned long last = (offset + len - 1) >> DENSE_SHIFT;
    uint64_t data;

    if (find_next_zero_bit(st->dense, last + 1, first) > last) {
        return false;
    }
    data = store_next_data(st, offset, offset + len);
    if (data < offset + len) {
        store_set_dense(st, data, 1);
        return false;
    }
    return true;
}

bool trn_store_is_hole(TrnStore *st, const uint8_t *src, uint64_t len)
{
    /* Reading a hole through the mapping would fill it with pages. */
    return store_range_is_hole(st, src - st->ptr, len);
}

static bool store_discard(TrnStore *st, uint64_t offset, uint64_t len)
{
    unsigned long first, last;

    /* Somebody (vfio) pinned guest memory: the pages have to stay. */
    if (ram_block_discard_is_disabled() ||
        fallocate(st->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset,
                  len)) {
        return false;
    }
    trace_trn_hbm_discard(offset, len);
    first = DIV_ROUND_UP(offset, DENSE_SIZE);
    last = (offset + len) >> DENSE_SHIFT;
    if (last > first) {
        bitmap_clear(st->dense, first, last - first);
    }
    return true;
}

/* Whole pages; only those that are there are written. */
static void store_zero_pages(TrnStore *st, uint64_t offset, uint64_t end)
{
    unsigned char resident[DENSE_SIZE / PAGE];

    while ((offset = store_next_data(st, offset, end)) < end) {
        uint64_t n = MIN(end - offset, DENSE_SIZE);
        uint64_t pages;

        /*
         * The kernel says here is data, but asking where it ends may take
         * a walk over gigabytes of it. Residency is enough: what it does
         * not show (a page that was swapped out) is found by the next
         * turn, which makes progress by at least one page.
         */
        if (mincore(st->ptr + offset, n, resident)) {
            memset(resident, 1, sizeof(resident));
        }
        pages = 1;
        while (pages * PAGE < n && (resident[pages] & 1)) {
            pages++;
        }
        n = MIN(n, pages * PAGE);
        memset(st->ptr + offset, 0, n);
        offset += n;
    }
}

void trn_store_zero(TrnStore *st, uint8_t *dst, uint64_t len)
{
    uint64_t offset = dst - st->ptr;
    uint64_t end = offset + len;
    uint64_t first = ROUND_UP(offset, PAGE);
    uint64_t last = QEMU_ALIGN_DOWN(end, PAGE);

    if (!len || store_range_is_hole(st, offset, len)) {
        return;
    }
    if (first >= last) {
        memset(dst, 0, len);
        return;
    }
    memset(dst, 0, first - offset);
    memset(st->ptr + last, 0, end - last);
    if (last - first < DENSE_SIZE || !store_discard(st, first, last - first)) {
        store_zero_pages(st, first, last);
    }
}

/* Pages for data that is about to be written, all at once: fewer faults */
static void store_populate(TrnStore *st, uint64_t offset, uint64_t len)
{
    if (len >= TRN_COPY_LARGE &&
        store_next_data(st, offset, offset + len) == offset + len) {
        qemu_madvise(st->ptr + offset, QEMU_ALIGN_DOWN(len, PAGE),
                     QEMU_MADV_POPULATE_WRITE);
    }
}

/* One load decides for nearly every page that holds data. */
static inline bool page_is_zero(const uint8_t *p)
{
    return !ldq_he_p(p) && buffer_is_zero(p, PAGE);
}

void trn_store_write(TrnStore *st, uint8_t *dst, const uint8_t *src,
                     uint64_t len)
{
    uint64_t offset = dst - st->ptr;
    uint64_t head = MIN(len, -offset & (PAGE - 1));

    /*
     * Overlapping areas are one memmove: no page may be looked at after
     * another one was written over it.
     */
    if (len - head < PAGE || (dst < src + len && src < dst + len)) {
        store_set_dense(st, offset, len);
        memmove(dst, src, len);
        return;
    }
    if (head) {
        store_set_dense(st, offset, head);
        memcpy(dst, src, head);
        dst += head;
        src += head;
        len -= head;
    }
    /* Runs of zero pages and of pages with data by turns */
    while (len) {
        uint64_t n = 0;

        while (n + PAGE <= len && page_is_zero(src + n)) {
            n += PAGE;
        }
        if (n) {
            trn_store_zero(st, dst, n);
            dst += n;
            src += n;
            len -= n;
            n = 0;
        }
        while (n + PAGE <= len && !page_is_zero(src + n)) {
            n += PAGE;
        }
        if (len - n < PAGE) {
            n = len;
        }
        if (n) {
            store_set_dense(st, dst - st->ptr, n);
            store_populate(st, dst - st->ptr, n);
            trn_copy(dst, src, n);
            dst += n;
            src += n;
            len -= n;
        }
    }
}

/*
 * Migration: extents of data, each as offset, length and contents, closed by
 * an extent of length 0. Holes and pages of zeros are not in the stream.
 */
#define EXTENT_MAX (1u << 20)

static void store_put_extent(QEMUFile *f, TrnStore *st, uint64_t offset,
                             uint64_t len)
{
    while (len) {
        uint64_t n = MIN(len, EXTENT_MAX);

        qemu_put_be64(f, offset);
        qemu_put_be32(f, n);
        qemu_put_buffer(f, st->ptr + offset, n);
        offset += n;
        len -= n;
    }
}

static int store_put(QEMUFile *f, void *pv, size_t size,
                     const VMStateField *field, JSONWriter *vmdesc)
{
    TrnStore *st = pv;
    uint64_t offset = 0, end;

    qemu_put_be64(f, st->size);
    while (st->ptr &&
           (offset = store_next_data(st, offset, st->size)) < st->size) {
        off_t hole = lseek(st->fd, offset, SEEK_HOLE);

        end = hole < 0 ? st->size : MIN((uint64_t)hole, st->size);
        while (offset < end) {
            uint64_t n = MIN(end - offset, EXTENT_MAX);

            if (!buffer_is_zero(st->ptr + offset, n)) {
                store_put_extent(f, st, offset, n);
            }
            offset += n;
        }
    }
    qemu_put_be64(f, 0);
    qemu_put_be32(f, 0);
    return qemu_file_get_error(f);
}

static int store_get(QEMUFile *f, void *pv, size_t size,
                     const VMStateField *field)
{
    TrnStore *st = pv;

    if (qemu_get_be64(f) != st->size) {
        return -EINVAL;
    }
    if (st->ptr && !store_discard(st, 0, st->size)) {
        store_zero_pages(st, 0, st->size);
    }
    for (;;) {
        uint64_t offset = qemu_get_be64(f);
        uint32_t len = qemu_get_be32(f);

        if (!len) {
            return qemu_file_get_error(f);
        }
        if (len > EXTENT_MAX || offset >= st->size ||
            len > st->size - offset) {
            return -EINVAL;
        }
        if (qemu_get_buffer(f, st->ptr + offset, len) != len) {
            return -EIO;
        }
        store_set_dense(st, offset, len);
    }
}

const VMStateInfo vmstate_info_trn_store = {
    .name = "trainium store",
    .get = store_get,
    .put = store_put,
};

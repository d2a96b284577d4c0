/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Guest memory as the device reaches it: through its own bus master address
 * space, so bus mastering and an IOMMU mean what they should.
 *
 * Translating every descriptor would cost more than moving 64 bytes. So, as
 * vhost does, a memory listener keeps a table of the RAM in that address
 * space; what is in the table is reached by pointer. Behind an IOMMU the
 * table is empty: there, pages are mapped as they are met, and unmapped when
 * the slice is over. What is not RAM (other devices) is never reached by
 * pointer.
 */
#include "qemu/osdep.h"
#include "qemu/atomic.h"
#include "qemu/bswap.h"
#include "qapi/error.h"
#include "exec/memory.h"
#include "trainium.h"

struct TrnHostRegion {
    uint64_t base, size;
    bool readonly;
    bool mapped;
    MemoryRegionCache cache;
};

/* RAM behind an IOMMU, mapped for the time of a slice */
typedef struct TrnHostMap {
    void *ptr;
    hwaddr len;
    bool write;
} TrnHostMap;

#define MAP_PAGE 4096ull
#define MAPS_MAX 1024

static void host_region_clear(void *p)
{
    TrnHostRegion *r = p;

    if (r->mapped) {
        address_space_cache_destroy(&r->cache);
        r->mapped = false;
    }
}

static GArray *host_regions_new(void)
{
    GArray *a = g_array_new(false, true, sizeof(TrnHostRegion));

    g_array_set_clear_func(a, host_region_clear);
    return a;
}

static void host_listener_begin(MemoryListener *l)
{
    TrnDevice *d = container_of(l, TrnDevice, dma_listener);

    g_array_set_size(d->host_region_next, 0);
    d->host_iommu_next = false;
}

static void host_listener_region(MemoryListener *l, MemoryRegionSection *s)
{
    TrnDevice *d = container_of(l, TrnDevice, dma_listener);
    TrnHostRegion r = {
        .base = s->offset_within_address_space,
        .size = int128_get64(s->size),
        .readonly = s->readonly,
    };

    if (memory_region_is_iommu(s->mr)) {
        d->host_iommu_next = true;
    } else if (memory_access_is_direct(s->mr, !s->readonly,
                                       MEMTXATTRS_UNSPECIFIED)) {
        g_array_append_val(d->host_region_next, r);
    }
}

static void host_listener_commit(MemoryListener *l)
{
    TrnDevice *d = container_of(l, TrnDevice, dma_listener);
    GArray *old = d->host_region;

    d->host_region = d->host_region_next;
    d->host_region_hit = 0;
    g_array_set_size(old, 0);
    d->host_region_next = old;
    d->host_iommu = d->host_iommu_next;
}

bool trn_host_init(TrnDevice *d, Error **errp)
{
    d->dma_as = pci_get_address_space(PCI_DEVICE(d));
    d->host_region = host_regions_new();
    d->host_region_next = host_regions_new();
    d->host_map = g_array_new(false, false, sizeof(TrnHostMap));
    d->dma_listener = (MemoryListener) {
        .name = "trainium",
        .begin = host_listener_begin,
        .region_add = host_listener_region,
        .region_nop = host_listener_region,
        .commit = host_listener_commit,
    };
    memory_listener_register(&d->dma_listener, d->dma_as);
    return true;
}

void trn_host_exit(TrnDevice *d)
{
    if (!d->host_region) {
        return;
    }
    trn_host_release(d);
    memory_listener_unregister(&d->dma_listener);
    g_array_set_size(d->host_region, 0);
    g_array_set_size(d->host_region_next, 0);
}

void trn_host_finalize(TrnDevice *d)
{
    if (d->host_region) {
        g_array_free(d->host_map, true);
        g_array_free(d->host_region, true);
        g_array_free(d->host_region_next, true);
    }
}

static TrnHostRegion *host_region_find(TrnDevice *d, uint64_t addr)
{
    TrnHostRegion *r = (TrnHostRegion *)d->host_region->data;
    unsigned i, n = d->host_region->len;

    if (d->host_region_hit < n &&
        addr - r[d->host_region_hit].base < r[d->host_region_hit].size) {
        return &r[d->host_region_hit];
    }
    for (i = 0; i < n; i++) {
        if (addr - r[i].base < r[i].size) {
            d->host_region_hit = i;
            return &r[i];
        }
    }
    return NULL;
}

static bool host_region_map(TrnDevice *d, TrnHostRegion *r)
{
    if (!r->mapped) {
        int64_t len = address_space_cache_init(&r->cache, d->dma_as, r->base,
                                               r->size, !r->readonly);

        if (len <= 0) {
            return false;
        }
        r->mapped = true;
        r->size = len;
    }
    return r->cache.ptr;
}

static uint8_t *host_region_ptr(TrnDevice *d, uint64_t addr, uint64_t *len,
                                bool write, TrnHostRegion **region)
{
    TrnHostRegion *r = host_region_find(d, addr);

    if (!r || (write && r->readonly) || !host_region_map(d, r) ||
        addr - r->base >= r->size) {
        return NULL;
    }
    *len = MIN(*len, r->size - (addr - r->base));
    *region = r;
    return (uint8_t *)r->cache.ptr + (addr - r->base);
}

/* Mapping anything but RAM would access it: look first. Clips @len. */
static bool host_is_ram(TrnDevice *d, uint64_t addr, hwaddr *len, bool write)
{
    MemoryRegion *mr;
    hwaddr xlat;

    RCU_READ_LOCK_GUARD();
    mr = address_space_translate(d->dma_as, addr, &xlat, len, write,
                                 MEMTXATTRS_UNSPECIFIED);
    return memory_access_is_direct(mr, write, MEMTXATTRS_UNSPECIFIED);
}

static uint8_t *host_iommu_ptr(TrnDevice *d, uint64_t addr, uint64_t *len,
                               bool write)
{
    TrnHostMap m = { .len = *len, .write = write };

    if (d->host_map->len >= MAPS_MAX ||
        !host_is_ram(d, addr, &m.len, write)) {
        return NULL;
    }
    m.ptr = address_space_map(d->dma_as, addr, &m.len, write,
                              MEMTXATTRS_UNSPECIFIED);
    if (!m.ptr) {
        return NULL;
    }
    g_array_append_val(d->host_map, m);
    *len = m.len;
    return m.ptr;
}

uint8_t *trn_host_ptr(TrnDevice *d, uint64_t addr, uint64_t *len, bool write,
                      TrnHostRegion **region)
{
    *region = NULL;
    if (unlikely(d->gone)) {
        return NULL;
    }
    return d->host_iommu ? host_iommu_ptr(d, addr, len, write) :
                           host_region_ptr(d, addr, len, write, region);
}

uint64_t trn_host_window(TrnDevice *d, uint64_t addr)
{
    return d->host_iommu ? MAP_PAGE - addr % MAP_PAGE : UINT64_MAX;
}

void trn_host_release(TrnDevice *d)
{
    unsigned i;

    for (i = 0; i < d->host_map->len; i++) {
        TrnHostMap *m = &g_array_index(d->host_map, TrnHostMap, i);

        address_space_unmap(d->dma_as, m->ptr, m->len, m->write,
                            m->write ? m->len : 0);
    }
    g_array_set_size(d->host_map, 0);
}

void trn_host_dirty(TrnHostRegion *r, const uint8_t *ptr, uint64_t len)
{
    address_space_cache_invalidate(&r->cache, ptr - (uint8_t *)r->cache.ptr,
                                   len);
}

bool trn_host_read(TrnDevice *d, uint64_t addr, void *buf, uint64_t len)
{
    return !d->gone &&
           address_space_read(d->dma_as, addr, MEMTXATTRS_UNSPECIFIED, buf,
                              len) == MEMTX_OK;
}

bool trn_host_write(TrnDevice *d, uint64_t addr, const void *buf, uint64_t len)
{
    return !d->gone &&
           address_space_write(d->dma_as, addr, MEMTXATTRS_UNSPECIFIED, buf,
                               len) == MEMTX_OK;
}

/* An aligned word in RAM, while one looks at it; @region: NULL: mapped for it */
typedef struct HostWord {
    void *ptr;
    TrnHostRegion *region;
    hwaddr size;
} HostWord;

static bool host_word_get(TrnDevice *d, uint64_t addr, hwaddr size, bool write,
                          HostWord *w)
{
    uint64_t direct = size;
    hwaddr len = size;

    if (d->gone) {
        return false;
    }
    w->size = size;
    w->ptr = host_region_ptr(d, addr, &direct, write, &w->region);
    if (w->ptr && direct == size && QEMU_PTR_IS_ALIGNED(w->ptr, size)) {
        return true;
    }
    w->region = NULL;
    if (!host_is_ram(d, addr, &len, write)) {
        return false;
    }
    w->ptr = address_space_map(d->dma_as, addr, &len, write,
                               MEMTXATTRS_UNSPECIFIED);
    if (!w->ptr) {
        return false;
    }
    if (len == size && QEMU_PTR_IS_ALIGNED(w->ptr, size)) {
        return true;
    }
    address_space_unmap(d->dma_as, w->ptr, len, write, 0);
    return false;
}

static void host_word_put(TrnDevice *d, HostWord *w, bool write)
{
    if (!w->region) {
        address_space_unmap(d->dma_as, w->ptr, w->size, write,
                            write ? w->size : 0);
    } else if (write) {
        trn_host_dirty(w->region, w->ptr, w->size);
    }
}

bool trn_host_word(TrnDevice *d, uint64_t addr, bool write, TrnHostWordFn *fn,
                   void *opaque)
{
    HostWord w;

    if (!host_word_get(d, addr, sizeof(uint64_t), write, &w)) {
        return false;
    }
    fn(w.ptr, opaque);
    host_word_put(d, &w, write);
    return true;
}

bool trn_host_or32(TrnDevice *d, uint64_t addr, uint32_t bits)
{
    HostWord w;

    if (!host_word_get(d, addr, sizeof(uint32_t), true, &w)) {
        return false;
    }
    qatomic_or((uint32_t *)w.ptr, cpu_to_le32(bits));
    host_word_put(d, &w, true);
    return true;
}

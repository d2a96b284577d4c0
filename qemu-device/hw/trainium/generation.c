/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What differs between the generations: one const table each. The rest of the
 * model knows no generation, and their address maps are data here.
 *
 * Trainium4 is announced, not published: of it this project has defined what
 * is not a figure of the announcement (twice the capacity and four times the
 * bandwidth of Trainium3), see Documentation/hardware/generations.rst.
 */
#include "qemu/osdep.h"
#include "trainium.h"

/* What is at each place of a map, and how large it is */
static const uint32_t place_size[TRN_NUM_PLACE_KINDS] = {
    [TRN_PLACE_PREPROC] = TRN2_PREPROC_SIZE,
    [TRN_PLACE_SBUF] = TRN_TPB_SBUF_SIZE,
    [TRN_PLACE_CORE_SYNC] = TRN_SYNC_SIZE,
    [TRN_PLACE_TOP_SP_SYNC] = TRN_SYNC_SIZE,
    [TRN_PLACE_UDMA] = TRN_ENGINE_UDMA_SIZE,
    [TRN_PLACE_SDMA] = TRN_ENGINE_SDMA_SIZE,
    [TRN_PLACE_FIS] = TRN_FIS_SIZE,
    [TRN_PLACE_CORE_NOTIFIC] = TRN_NOTIFIC_SIZE,
    [TRN_PLACE_TOP_SP_NOTIFIC] = TRN_NOTIFIC_SIZE,
    [TRN_PLACE_PE] = TRN2_PE_ROW_GROUPS * TRN2_PE_ROW_STRIDE,
    [TRN_PLACE_MISC] = TRN_MISC_SIZE,
};

/* --- Trainium2 and what is like it --- */

/* An engine group with @cores cores and @engines engines */
#define SE(se, cores, engines) \
    { TRN_PLACE_PREPROC, se, 1, TRN2_AXI_PREPROC(se) }, \
    { TRN_PLACE_UDMA, (se) * (engines), engines, \
      TRN2_AXI_SE_APB(se) + TRN2_SE_ENGINE(se, 0), TRN2_ENGINE_STRIDE }, \
    { TRN_PLACE_SDMA, (se) * (engines), engines, \
      TRN2_AXI_SE_APB(se) + TRN2_SE_ENGINE(se, 0) + TRN2_ENGINE_SDMA, \
      TRN2_ENGINE_STRIDE }, \
    { TRN_PLACE_FIS, (se) * (engines), engines, \
      TRN2_AXI_SE_APB(se) + TRN2_SE_FIS(se, 0), TRN_FIS_SIZE }, \
    { TRN_PLACE_SBUF, (se) * (cores), cores, \
      TRN2_AXI_TPB(2 * (se)) + TRN_TPB_SBUF, TRN2_TPB_STRIDE }, \
    { TRN_PLACE_CORE_SYNC, (se) * (cores), cores, \
      TRN2_AXI_TPB(2 * (se)) + TRN_TPB_SYNC, TRN2_TPB_STRIDE }, \
    { TRN_PLACE_CORE_NOTIFIC, (se) * (cores), cores, \
      TRN2_AXI_IO_APB((se) / 2) + TRN2_IO_TPB_NOTIFIC(2 * ((se) % 2)), \
      TRN2_IO_CORE_STRIDE }, \
    { TRN_PLACE_PE, (se) * (cores), cores, \
      TRN2_AXI_IO_APB((se) / 2) + TRN2_IO_PE_COUNTERS(2 * ((se) % 2)), \
      TRN2_IO_CORE_STRIDE }

/* A die: host engines from @host on, TOP_SPs of which @used have a NOTIFIC */
#define DIE(die, host, top_sps, used) \
    { TRN_PLACE_UDMA, (host) + 2 * (die), 2, \
      TRN2_AXI_IO_APB(die) + TRN2_IO_UDMA_D2H, TRN2_ENGINE_STRIDE }, \
    { TRN_PLACE_SDMA, (host) + 2 * (die), 2, \
      TRN2_AXI_IO_APB(die) + TRN2_IO_UDMA_D2H + TRN2_ENGINE_SDMA, \
      TRN2_ENGINE_STRIDE }, \
    { TRN_PLACE_TOP_SP_SYNC, (die) * (top_sps), top_sps, \
      TRN2_AXI_TOP_SP((die) * 10) + TRN_TOP_SP_SYNC, TRN2_TOP_SP_STRIDE }, \
    { TRN_PLACE_TOP_SP_NOTIFIC, (die) * (top_sps), used, \
      TRN2_AXI_IO_APB(die) + TRN2_IO_TOP_SP_NOTIFIC(0), TRN2_IO_TOP_SP_STRIDE }

#define MISC_RAM { TRN_PLACE_MISC, 0, 1, TRN2_AXI_IO_APB(0) + TRN2_IO_MISC_RAM }

static const TrnPlaces trn2_map[] = {
    SE(0, 2, TRN2_ENGINES_PER_SE), SE(1, 2, TRN2_ENGINES_PER_SE),
    SE(2, 2, TRN2_ENGINES_PER_SE), SE(3, 2, TRN2_ENGINES_PER_SE),
    DIE(0, TRN2_NUM_DATA_ENGINES, 10, 8), DIE(1, TRN2_NUM_DATA_ENGINES, 10, 8),
    MISC_RAM,
};

static const TrnBarWindow trn2_bar0[] = {
    { TRN2_BAR0_IO_APB(0), TRN2_AXI_IO_APB(0), TRN2_IO_APB_SIZE, 1 },
    { TRN2_BAR0_IO_APB(1), TRN2_AXI_IO_APB(1), TRN2_IO_APB_SIZE, 1 },
    { TRN2_BAR0_SE_APB(0), TRN2_AXI_SE_APB(0), TRN2_SE_APB_SIZE, 1 },
    { TRN2_BAR0_SE_APB(1), TRN2_AXI_SE_APB(1), TRN2_SE_APB_SIZE, 1 },
    { TRN2_BAR0_SE_APB(2), TRN2_AXI_SE_APB(2), TRN2_SE_APB_SIZE, 1 },
    { TRN2_BAR0_SE_APB(3), TRN2_AXI_SE_APB(3), TRN2_SE_APB_SIZE, 1 },
    { TRN2_BAR0_TPB(0), TRN2_AXI_TPB(0), TRN2_BAR0_TPB_SIZE, 2,
      TRN2_TPB_STRIDE },
    { TRN2_BAR0_TPB(2), TRN2_AXI_TPB(2), TRN2_BAR0_TPB_SIZE, 2,
      TRN2_TPB_STRIDE },
    { TRN2_BAR0_TPB(4), TRN2_AXI_TPB(4), TRN2_BAR0_TPB_SIZE, 2,
      TRN2_TPB_STRIDE },
    { TRN2_BAR0_TPB(6), TRN2_AXI_TPB(6), TRN2_BAR0_TPB_SIZE, 2,
      TRN2_TPB_STRIDE },
    /* software's second eight are the chip's TOP_SP10..17 */
    { TRN2_BAR0_TOP_SP(0), TRN2_AXI_TOP_SP(0), TRN2_TOP_SP_SIZE, 8,
      TRN2_TOP_SP_STRIDE },
    { TRN2_BAR0_TOP_SP(8), TRN2_AXI_TOP_SP(10), TRN2_TOP_SP_SIZE, 8,
      TRN2_TOP_SP_STRIDE },
};

#define TRN2_SHAPE \
    .num_engines = TRN2_NUM_ENGINES, \
    .num_data_engines = TRN2_NUM_DATA_ENGINES, \
    .num_cores = TRN2_NUM_CORES, \
    .num_stacks = TRN2_NUM_HBM, \
    .num_dies = TRN2_NUM_DIES, \
    .num_preprocs = TRN2_NUM_SE, \
    .top_sps_per_die = TRN2_NUM_TOP_SP / TRN2_NUM_DIES, \
    .used_top_sps_per_die = TRN2_NUM_TOP_SP_USED / TRN2_NUM_DIES, \
    .reset_dma_shift = TRN2_RESET_MAP_DMA_SHIFT, \
    .reset_top_sp_shift = TRN2_RESET_MAP_TOP_SP_SHIFT, \
    .reset_top_sps = 2, \
    .bar0_size = TRN2_BAR0_SIZE, \
    .bar4_size = TRN2_BAR4_SIZE, \
    .bar4_max = TRN2_BAR4_SIZE, \
    .axi_bits = TRN2_AXI_BITS, \
    .host_window = TRN2_AXI_HOST, \
    .host_size = TRN2_AXI_HOST_SIZE, \
    .num_neighbours = TRN2_NUM_NEIGHBOUR_LINKS, \
    .hbm_axi = { TRN2_AXI_HBM(0), TRN2_AXI_HBM(1), TRN2_AXI_HBM(2), \
                 TRN2_AXI_HBM(3) }, \
    .map = trn2_map, \
    .num_map = ARRAY_SIZE(trn2_map), \
    .bar0 = trn2_bar0, \
    .num_bar0 = ARRAY_SIZE(trn2_bar0)

const TrnGeneration trn_trainium2 = {
    .name = "trainium2",
    .description = "AWS Trainium2 accelerator",
    .number = 2,
    .pci_device_id = TRN_PCI_DEVICE_TRAINIUM2,
    TRN2_SHAPE,
    .hbm_size = TRN2_HBM_SIZE,
    /* 368 GB/s a core over its 16 engines; 2.9 TB/s over four stacks */
    .engine_bytes_per_us = 23000,
    .stack_bytes_per_us = 725000,
    .packet_ns = 16,
};

const TrnGeneration trn_trainium3 = {
    .name = "trainium3",
    .description = "AWS Trainium3 accelerator",
    .number = 3,
    .pci_device_id = TRN_PCI_DEVICE_TRAINIUM3,
    .pci_device_id_b = TRN_PCI_DEVICE_TRAINIUM3_B,
    TRN2_SHAPE,
    .hbm_size = TRN3_HBM_SIZE,
    /* 528 GB/s a core over its 16 engines; 4.9 TB/s over four stacks */
    .engine_bytes_per_us = 33000,
    .stack_bytes_per_us = 1225000,
    .packet_ns = 16,
};

/* --- Trainium4 --- */

static const TrnPlaces trn4_map[] = {
    SE(0, 1, TRN4_ENGINES_PER_SE), SE(1, 1, TRN4_ENGINES_PER_SE),
    SE(2, 1, TRN4_ENGINES_PER_SE), SE(3, 1, TRN4_ENGINES_PER_SE),
    SE(4, 1, TRN4_ENGINES_PER_SE), SE(5, 1, TRN4_ENGINES_PER_SE),
    SE(6, 1, TRN4_ENGINES_PER_SE), SE(7, 1, TRN4_ENGINES_PER_SE),
    DIE(0, TRN4_NUM_DATA_ENGINES, 4, 4), DIE(1, TRN4_NUM_DATA_ENGINES, 4, 4),
    DIE(2, TRN4_NUM_DATA_ENGINES, 4, 4), DIE(3, TRN4_NUM_DATA_ENGINES, 4, 4),
    MISC_RAM,
};

#define BAR0_DIE(die) \
    { TRN4_BAR0_IO_APB(die), TRN2_AXI_IO_APB(die), TRN4_BAR0_IO_APB_SIZE, 1 }, \
    { TRN4_BAR0_TOP_SP(4 * (die)), TRN4_AXI_TOP_SP(4 * (die)), \
      TRN2_TOP_SP_SIZE, 4, TRN2_TOP_SP_STRIDE }
#define BAR0_SE(se) \
    { TRN4_BAR0_SE_APB(se), TRN2_AXI_SE_APB(se), TRN2_SE_APB_SIZE, 1 }, \
    { TRN4_BAR0_TPB(se), TRN4_AXI_TPB(se), TRN2_BAR0_TPB_SIZE, 1 }

static const TrnBarWindow trn4_bar0[] = {
    BAR0_DIE(0), BAR0_DIE(1), BAR0_DIE(2), BAR0_DIE(3),
    BAR0_SE(0), BAR0_SE(1), BAR0_SE(2), BAR0_SE(3),
    BAR0_SE(4), BAR0_SE(5), BAR0_SE(6), BAR0_SE(7),
};

const TrnGeneration trn_trainium4 = {
    .name = "trainium4",
    .description = "AWS Trainium4 accelerator (announced: placeholder id)",
    .number = 4,
    .pci_device_id = TRN_PCI_DEVICE_TRAINIUM4,
    .num_engines = TRN4_NUM_ENGINES,
    .num_data_engines = TRN4_NUM_DATA_ENGINES,
    .num_cores = TRN4_NUM_CORES,
    .num_stacks = TRN4_NUM_HBM,
    .num_dies = TRN4_NUM_DIES,
    .num_preprocs = TRN4_NUM_SE,
    .top_sps_per_die = TRN4_NUM_TOP_SP / TRN4_NUM_DIES,
    .used_top_sps_per_die = TRN4_NUM_TOP_SP / TRN4_NUM_DIES,
    .reset_dma_shift = TRN2_RESET_MAP_DMA_SHIFT,
    .reset_top_sp_shift = TRN2_RESET_MAP_TOP_SP_SHIFT,
    .reset_top_sps = 2,
    .hbm_size = TRN4_HBM_SIZE,
    .bar0_size = TRN2_BAR0_SIZE,
    .bar4_size = TRN4_BAR4_RESET,
    .bar4_max = TRN4_BAR4_MAX,
    .bar4_resizable = true,
    .axi_bits = TRN4_AXI_BITS,
    .host_window = TRN2_AXI_HOST,
    .host_size = TRN2_AXI_HOST_SIZE,
    .hbm_axi = { TRN2_AXI_HBM(0), TRN2_AXI_HBM(1), TRN2_AXI_HBM(2),
                 TRN2_AXI_HBM(3), TRN2_AXI_HBM(4), TRN2_AXI_HBM(5),
                 TRN2_AXI_HBM(6), TRN2_AXI_HBM(7) },
    .map = trn4_map,
    .num_map = ARRAY_SIZE(trn4_map),
    .bar0 = trn4_bar0,
    .num_bar0 = ARRAY_SIZE(trn4_bar0),
    /* four times Trainium3: 19.6 TB/s over eight stacks */
    .engine_bytes_per_us = 132000,
    .stack_bytes_per_us = 2450000,
    .packet_ns = 16,
};

/* --- Trainium1 --- */

#define TRN1_APB(offset) (TRN1_AXI_BAR0 + TRN1_BAR0_APB + (offset))

static const TrnPlaces trn1_map[] = {
    { TRN_PLACE_SBUF, 0, TRN1_NUM_CORES,
      TRN1_AXI_BAR0 + TRN1_BAR0_TPB(0) + TRN_TPB_SBUF, TRN2_BAR0_TPB_SIZE },
    { TRN_PLACE_CORE_SYNC, 0, TRN1_NUM_CORES,
      TRN1_AXI_BAR0 + TRN1_BAR0_TPB(0) + TRN_TPB_SYNC, TRN2_BAR0_TPB_SIZE },
    { TRN_PLACE_TOP_SP_SYNC, 0, TRN1_NUM_TOP_SP,
      TRN1_AXI_BAR0 + TRN1_BAR0_TOP_SP(0) + TRN_TOP_SP_SYNC, TRN2_TOP_SP_SIZE },
    { TRN_PLACE_UDMA, 0, TRN_ENGINES_PER_CORE, TRN1_APB(TRN1_UDMA(0)),
      TRN1_UDMA_STRIDE },
    { TRN_PLACE_UDMA, TRN_ENGINES_PER_CORE, TRN_ENGINES_PER_CORE,
      TRN1_APB(TRN1_UDMA(1)), TRN1_UDMA_STRIDE },
    { TRN_PLACE_SDMA, 0, TRN_ENGINES_PER_CORE, TRN1_APB(TRN1_SDMA(0)),
      TRN1_SDMA_STRIDE },
    { TRN_PLACE_SDMA, TRN_ENGINES_PER_CORE, TRN_ENGINES_PER_CORE,
      TRN1_APB(TRN1_SDMA(1)), TRN1_SDMA_STRIDE },
    { TRN_PLACE_UDMA, TRN1_NUM_DATA_ENGINES, TRN1_NUM_HOST_ENGINES,
      TRN1_APB(TRN1_UDMA_HOST(0)), TRN1_CORE_STRIDE },
    { TRN_PLACE_SDMA, TRN1_NUM_DATA_ENGINES, TRN1_NUM_HOST_ENGINES,
      TRN1_APB(TRN1_SDMA_HOST(0)), TRN1_CORE_STRIDE },
    { TRN_PLACE_CORE_NOTIFIC, 0, TRN1_NUM_CORES, TRN1_APB(TRN1_TPB_NOTIFIC(0)),
      TRN1_CORE_STRIDE },
    { TRN_PLACE_PE, 0, TRN1_NUM_CORES, TRN1_APB(TRN1_PE_COUNTERS(0)),
      TRN1_CORE_STRIDE },
    { TRN_PLACE_TOP_SP_NOTIFIC, 0, TRN1_NUM_TOP_SP,
      TRN1_APB(TRN1_TOP_SP_NOTIFIC(0)), TRN1_TOP_SP_STRIDE },
    { TRN_PLACE_MISC, 0, 1, TRN1_APB(TRN1_MISC_RAM) },
};

static const TrnBarWindow trn1_bar0[] = {
    { 0, TRN1_AXI_BAR0, TRN1_BAR0_SIZE, 1 },
};

const TrnGeneration trn_trainium1 = {
    .name = "trainium1",
    .description = "AWS Trainium1 accelerator",
    .number = 1,
    .pci_device_id = TRN_PCI_DEVICE_TRAINIUM1,
    .num_engines = TRN1_NUM_ENGINES,
    .num_data_engines = TRN1_NUM_DATA_ENGINES,
    .num_cores = TRN1_NUM_CORES,
    .num_stacks = TRN1_NUM_HBM,
    .num_dies = TRN1_NUM_DIES,
    .top_sps_per_die = TRN1_NUM_TOP_SP,
    .used_top_sps_per_die = TRN1_NUM_TOP_SP,
    /* the map has no bits of their own for engines: a core's take its bit */
    .reset_dma_shift = TRN2_RESET_MAP_TPB_SHIFT,
    .reset_top_sp_shift = TRN1_RESET_MAP_TOP_SP_SHIFT,
    .reset_top_sps = 1,
    .hbm_size = TRN1_HBM_SIZE,
    .bar0_size = TRN1_BAR0_SIZE,
    .bar4_size = TRN1_BAR4_SIZE,
    .bar4_max = TRN1_BAR4_SIZE,
    .axi_bits = TRN1_AXI_BITS,
    .host_window = TRN1_AXI_HOST,
    .host_size = TRN1_AXI_HOST_SIZE,
    .hbm_axi = { TRN1_AXI_HBM(0), TRN1_AXI_HBM(1) },
    .map = trn1_map,
    .num_map = ARRAY_SIZE(trn1_map),
    .bar0 = trn1_bar0,
    .num_bar0 = ARRAY_SIZE(trn1_bar0),
    .all_reach_host = true,
    /* 272 GB/s a core over its 16 engines; 820 GB/s over two stacks */
    .engine_bytes_per_us = 17000,
    .stack_bytes_per_us = 410000,
    .packet_ns = 16,
};

/* --- maps, ready to be searched --- */

static int place_cmp(const void *a, const void *b)
{
    const TrnPlace *p = a, *q = b;

    return p->base < q->base ? -1 : p->base > q->base;
}

TrnPlace *trn_places_new(const TrnGeneration *g, unsigned *num)
{
    GArray *a = g_array_new(false, false, sizeof(TrnPlace));
    unsigned i, n;

    for (i = 0; i < g->num_map; i++) {
        const TrnPlaces *m = &g->map[i];

        for (n = 0; n < m->count; n++) {
            TrnPlace p = {
                .base = m->base + n * m->stride,
                .size = place_size[m->kind],
                .kind = m->kind,
                .index = m->first + n,
            };

            g_array_append_val(a, p);
        }
    }
    g_array_sort(a, place_cmp);
    *num = a->len;
    for (i = 1; i < a->len; i++) {
        const TrnPlace *p = &g_array_index(a, TrnPlace, i - 1);

        g_assert(p[0].base + p[0].size <= p[1].base);
    }
    return (TrnPlace *)g_array_free(a, false);
}

// SPDX-License-Identifier: GPL-2.0-only
/* What differs by generation: one constant table each. */
#include <linux/array_size.h>
#include <linux/bits.h>
#include <linux/sizes.h>

#include "regs/iofic.h"
#include "regs/tpb.h"
#include "trainium_device.h"

/* D2H and H2D engine of a die lie next to each other. */
#define TRN2_HOST_ENGINES	(TRN2_IO_UDMA_H2D + TRN_ENGINE_SIZE - TRN2_IO_UDMA_D2H)
/* The engines of a group, and their FIS blocks */
#define TRN2_DATA_ENGINES	(TRN2_ENGINES_PER_SE * 0x100000u)
#define TRN2_FIS_BLOCKS		(TRN2_ENGINES_PER_SE * TRN_FIS_SIZE)
#define TRN2_PE_COUNTERS	(TRN2_PE_ROW_GROUPS * TRN2_PE_ROW_STRIDE)
#define TRN2_CORES_PER_DIE	(TRN2_NUM_CORES / TRN2_NUM_DIES)

static const struct trn_window trn2_windows[] = {
	{ TRN2_BAR0_IO_APB(0) + TRN2_IO_MISC_RAM, TRN_MISC_SIZE },
	{ TRN2_BAR0_IO_APB(0) + TRN2_IO_UDMA_D2H, TRN2_HOST_ENGINES },
	{ TRN2_BAR0_IO_APB(1) + TRN2_IO_UDMA_D2H, TRN2_HOST_ENGINES },
	{ TRN2_BAR0_SE_APB(0) + TRN2_SE_ENGINE(0, 0), TRN2_DATA_ENGINES },
	{ TRN2_BAR0_SE_APB(0) + TRN2_SE_FIS(0, 0), TRN2_FIS_BLOCKS },
	{ TRN2_BAR0_SE_APB(1) + TRN2_SE_ENGINE(1, 0), TRN2_DATA_ENGINES },
	{ TRN2_BAR0_SE_APB(1) + TRN2_SE_FIS(1, 0), TRN2_FIS_BLOCKS },
	{ TRN2_BAR0_SE_APB(2) + TRN2_SE_ENGINE(2, 0), TRN2_DATA_ENGINES },
	{ TRN2_BAR0_SE_APB(2) + TRN2_SE_FIS(2, 0), TRN2_FIS_BLOCKS },
	{ TRN2_BAR0_SE_APB(3) + TRN2_SE_ENGINE(3, 0), TRN2_DATA_ENGINES },
	{ TRN2_BAR0_SE_APB(3) + TRN2_SE_FIS(3, 0), TRN2_FIS_BLOCKS },
	{ TRN2_BAR0_IO_APB(0) + TRN2_IO_PE_COUNTERS(0), TRN2_PE_COUNTERS },
	{ TRN2_BAR0_IO_APB(0) + TRN2_IO_PE_COUNTERS(1), TRN2_PE_COUNTERS },
	{ TRN2_BAR0_IO_APB(0) + TRN2_IO_PE_COUNTERS(2), TRN2_PE_COUNTERS },
	{ TRN2_BAR0_IO_APB(0) + TRN2_IO_PE_COUNTERS(3), TRN2_PE_COUNTERS },
	{ TRN2_BAR0_IO_APB(1) + TRN2_IO_PE_COUNTERS(0), TRN2_PE_COUNTERS },
	{ TRN2_BAR0_IO_APB(1) + TRN2_IO_PE_COUNTERS(1), TRN2_PE_COUNTERS },
	{ TRN2_BAR0_IO_APB(1) + TRN2_IO_PE_COUNTERS(2), TRN2_PE_COUNTERS },
	{ TRN2_BAR0_IO_APB(1) + TRN2_IO_PE_COUNTERS(3), TRN2_PE_COUNTERS },
};

static u32 trn2_engine_offset(unsigned int engine)
{
	unsigned int se = engine / TRN2_ENGINES_PER_SE;
	unsigned int host = engine - TRN2_NUM_DATA_ENGINES;

	if (engine < TRN2_NUM_DATA_ENGINES)
		return TRN2_BAR0_SE_APB(se) +
		       TRN2_SE_ENGINE(se, engine % TRN2_ENGINES_PER_SE);

	return TRN2_BAR0_IO_APB(host / 2) +
	       (host % 2 ? TRN2_IO_UDMA_H2D : TRN2_IO_UDMA_D2H);
}

static u64 trn2_engine_axi(unsigned int engine)
{
	unsigned int se = engine / TRN2_ENGINES_PER_SE;
	unsigned int host = engine - TRN2_NUM_DATA_ENGINES;

	if (engine < TRN2_NUM_DATA_ENGINES)
		return TRN2_AXI_SE_APB(se) + TRN2_SE_ENGINE(se, engine % TRN2_ENGINES_PER_SE);

	return TRN2_AXI_IO_APB(host / 2) + (host % 2 ? TRN2_IO_UDMA_H2D : TRN2_IO_UDMA_D2H);
}

static u32 trn2_fis_offset(unsigned int engine)
{
	unsigned int se = engine / TRN2_ENGINES_PER_SE;

	return TRN2_BAR0_SE_APB(se) + TRN2_SE_FIS(se, engine % TRN2_ENGINES_PER_SE);
}

static u32 trn2_pe_offset(unsigned int core)
{
	return TRN2_BAR0_IO_APB(core / TRN2_CORES_PER_DIE) +
	       TRN2_IO_PE_COUNTERS(core % TRN2_CORES_PER_DIE);
}

static u64 trn2_hbm_axi(unsigned int stack)
{
	return TRN2_AXI_HBM(stack);
}

/* One stack an engine group; host engine h serves the cores of group h. */
static unsigned int trn2_engine_stack(unsigned int engine)
{
	if (engine < TRN2_NUM_DATA_ENGINES)
		return engine / TRN2_ENGINES_PER_SE;
	return engine - TRN2_NUM_DATA_ENGINES;
}

static unsigned int trn2_engine_core(unsigned int engine)
{
	return engine < TRN2_NUM_DATA_ENGINES ? engine / TRN2_ENGINES_PER_CORE : ~0u;
}

static bool trn2_engine_has_host(unsigned int engine)
{
	return engine >= TRN2_NUM_DATA_ENGINES || TRN2_ENGINE_HAS_HOST(engine);
}

static unsigned int trn2_device_index(unsigned int routing_id)
{
	static const u8 index[] = {
		0, 3, 4, 7, 12, 15, 8, 11, 1, 2, 5, 6, 13, 14, 9, 10,
	};

	return routing_id / ARRAY_SIZE(index) * ARRAY_SIZE(index) +
	       index[routing_id % ARRAY_SIZE(index)];
}

/* A core, its 16 engines and its two TOP_SPs */
static u64 trn2_core_map(unsigned int core)
{
	return BIT(core) << TRN2_RESET_MAP_TPB_SHIFT |
	       BIT(core) << TRN2_RESET_MAP_DMA_SHIFT |
	       BIT(core) << TRN2_RESET_MAP_TOP_SP_SHIFT;
}

/* Data engines are reset by core, host engines one by one. */
static u64 trn2_engine_bit(unsigned int engine)
{
	if (engine < TRN2_NUM_DATA_ENGINES)
		return BIT(trn2_engine_core(engine)) << TRN2_RESET_MAP_DMA_SHIFT;
	return BIT_ULL(TRN2_RESET_MAP_HOST_SHIFT + engine - TRN2_NUM_DATA_ENGINES);
}

const struct trn_hw trn_hw_trainium2 = {
	.name = "trainium2",
	.generation = 2,
	.num_engines = TRN2_NUM_ENGINES,
	.num_data_engines = TRN2_NUM_DATA_ENGINES,
	.num_cores = TRN2_NUM_CORES,
	.num_stacks = TRN2_NUM_HBM,
	.num_dies = TRN2_NUM_DIES,
	.hbm_size = TRN2_HBM_SIZE,
	.hbm_window = TRN2_HBM_WINDOW,
	.host_window = TRN2_AXI_HOST,
	.host_bits = 46,
	.misc_offset = TRN2_BAR0_IO_APB(0) + TRN2_IO_MISC_RAM,
	.windows = trn2_windows,
	.num_windows = ARRAY_SIZE(trn2_windows),
	.regs_size = TRN2_BAR0_SIZE,
	.engine_offset = trn2_engine_offset,
	.engine_axi = trn2_engine_axi,
	.fis_offset = trn2_fis_offset,
	.hbm_axi = trn2_hbm_axi,
	.pe_offset = trn2_pe_offset,
	.engine_stack = trn2_engine_stack,
	.engine_core = trn2_engine_core,
	.engine_has_host = trn2_engine_has_host,
	.device_index = trn2_device_index,
	.core_map = trn2_core_map,
	.engine_bit = trn2_engine_bit,
};

// SPDX-License-Identifier: GPL-2.0-only
/* What differs by generation: one constant table each. */
#include <linux/array_size.h>
#include <linux/bits.h>
#include <linux/math.h>

#include "regs/iofic.h"
#include "regs/tpb.h"
#include "trainium_device.h"

/* Fetches instructions of the sequencers, on engines of these numbers in their core */
#define TRN_PAIR_SEQUENCER		14u
#define TRN1_SEQUENCER_ENGINES		GENMASK(10, 0)
#define TRN2_SEQUENCER_ENGINES		(GENMASK(4, 0) | BIT(7) | BIT(8))

#define TRN_PE_COUNTERS		(TRN2_PE_ROW_GROUPS * TRN2_PE_ROW_STRIDE)

/* --- Trainium2 and what is like it --- */

/* The two host engines of a die, the data engines of a group, their FIS blocks */
#define TRN2_HOST_ENGINES	(2 * TRN2_ENGINE_STRIDE)
#define TRN2_DATA_ENGINES	(TRN2_ENGINES_PER_SE * TRN2_ENGINE_STRIDE)
#define TRN2_FIS_BLOCKS		(TRN2_ENGINES_PER_SE * TRN_FIS_SIZE)
#define TRN4_DATA_ENGINES	(TRN4_ENGINES_PER_SE * TRN2_ENGINE_STRIDE)
#define TRN4_FIS_BLOCKS		(TRN4_ENGINES_PER_SE * TRN_FIS_SIZE)

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
	{ TRN2_BAR0_IO_APB(0) + TRN2_IO_PE_COUNTERS(0), TRN_PE_COUNTERS },
	{ TRN2_BAR0_IO_APB(0) + TRN2_IO_PE_COUNTERS(1), TRN_PE_COUNTERS },
	{ TRN2_BAR0_IO_APB(0) + TRN2_IO_PE_COUNTERS(2), TRN_PE_COUNTERS },
	{ TRN2_BAR0_IO_APB(0) + TRN2_IO_PE_COUNTERS(3), TRN_PE_COUNTERS },
	{ TRN2_BAR0_IO_APB(1) + TRN2_IO_PE_COUNTERS(0), TRN_PE_COUNTERS },
	{ TRN2_BAR0_IO_APB(1) + TRN2_IO_PE_COUNTERS(1), TRN_PE_COUNTERS },
	{ TRN2_BAR0_IO_APB(1) + TRN2_IO_PE_COUNTERS(2), TRN_PE_COUNTERS },
	{ TRN2_BAR0_IO_APB(1) + TRN2_IO_PE_COUNTERS(3), TRN_PE_COUNTERS },
};

/* Data FIFO of the read side in beats, packets in it; outstanding accesses */
static const struct trn_udma_cfg trn2_udma = {
	.m2s_data_cfg = 0x010008f8,
	.m2s_ostand = 0x20808080,
	.s2m_ostand_rd = 0x00400080,
	.sdma_beats = 0x26,
};

static const struct trn_udma_cfg trn3_udma = {
	.m2s_data_cfg = 0x010008f8,
	.m2s_ostand = 0x20808080,
	.s2m_ostand_rd = 0x00400080,
	.s2m_ostand_wr_2 = 0x100,
	.sdma_beats = 0x26,
};

/* The 4 x 4 torus: device number by routing id */
static const u8 trn2_torus[] = { 0, 3, 4, 7, 12, 15, 8, 11, 1, 2, 5, 6, 13, 14, 9, 10 };

const struct trn_hw trn_hw_trainium2 = {
	.name = "trainium2",
	.generation = 2,
	.sequencer_engines = TRN2_SEQUENCER_ENGINES,
	.num_engines = TRN2_NUM_ENGINES,
	.num_data_engines = TRN2_NUM_DATA_ENGINES,
	.num_cores = TRN2_NUM_CORES,
	.num_stacks = TRN2_NUM_HBM,
	.num_dies = TRN2_NUM_DIES,
	.hbm_size = TRN2_HBM_SIZE,
	.hbm_window = TRN2_HBM_WINDOW,
	.hbm_axi = { TRN2_AXI_HBM(0), TRN2_AXI_HBM(1), TRN2_AXI_HBM(2), TRN2_AXI_HBM(3) },
	.host_window = TRN2_AXI_HOST,
	.host_bits = 46,
	.misc_offset = TRN2_BAR0_IO_APB(0) + TRN2_IO_MISC_RAM,
	.windows = trn2_windows,
	.num_windows = ARRAY_SIZE(trn2_windows),
	.regs_size = TRN2_BAR0_SIZE,
	.engines_per_se = TRN2_ENGINES_PER_SE,
	.io_stride = TRN2_BAR0_IO_APB(1),
	.se_base = TRN2_BAR0_SE_APB(0),
	.reset_dma_shift = TRN2_RESET_MAP_DMA_SHIFT,
	.reset_top_sp_shift = TRN2_RESET_MAP_TOP_SP_SHIFT,
	.reset_top_sps = 1,
	.torus = trn2_torus,
	.udma = &trn2_udma,
};

const struct trn_hw trn_hw_trainium3 = {
	.name = "trainium3",
	.generation = 3,
	.sequencer_engines = TRN2_SEQUENCER_ENGINES,
	.num_engines = TRN2_NUM_ENGINES,
	.num_data_engines = TRN2_NUM_DATA_ENGINES,
	.num_cores = TRN2_NUM_CORES,
	.num_stacks = TRN2_NUM_HBM,
	.num_dies = TRN2_NUM_DIES,
	.hbm_size = TRN3_HBM_SIZE,
	.hbm_window = TRN2_HBM_WINDOW,
	.hbm_axi = { TRN2_AXI_HBM(0), TRN2_AXI_HBM(1), TRN2_AXI_HBM(2), TRN2_AXI_HBM(3) },
	.host_window = TRN2_AXI_HOST,
	.host_bits = 46,
	.misc_offset = TRN2_BAR0_IO_APB(0) + TRN2_IO_MISC_RAM,
	.windows = trn2_windows,
	.num_windows = ARRAY_SIZE(trn2_windows),
	.regs_size = TRN2_BAR0_SIZE,
	.engines_per_se = TRN2_ENGINES_PER_SE,
	.io_stride = TRN2_BAR0_IO_APB(1),
	.se_base = TRN2_BAR0_SE_APB(0),
	.reset_dma_shift = TRN2_RESET_MAP_DMA_SHIFT,
	.reset_top_sp_shift = TRN2_RESET_MAP_TOP_SP_SHIFT,
	.reset_top_sps = 1,
	.torus = trn2_torus,
	.udma = &trn3_udma,
};

/* --- Trainium4 --- */

static const struct trn_window trn4_windows[] = {
	{ TRN4_BAR0_IO_APB(0) + TRN2_IO_MISC_RAM, TRN_MISC_SIZE },
	{ TRN4_BAR0_IO_APB(0) + TRN2_IO_UDMA_D2H, TRN2_HOST_ENGINES },
	{ TRN4_BAR0_IO_APB(1) + TRN2_IO_UDMA_D2H, TRN2_HOST_ENGINES },
	{ TRN4_BAR0_IO_APB(2) + TRN2_IO_UDMA_D2H, TRN2_HOST_ENGINES },
	{ TRN4_BAR0_IO_APB(3) + TRN2_IO_UDMA_D2H, TRN2_HOST_ENGINES },
	{ TRN4_BAR0_SE_APB(0) + TRN2_SE_ENGINE(0, 0), TRN4_DATA_ENGINES },
	{ TRN4_BAR0_SE_APB(0) + TRN2_SE_FIS(0, 0), TRN4_FIS_BLOCKS },
	{ TRN4_BAR0_SE_APB(1) + TRN2_SE_ENGINE(1, 0), TRN4_DATA_ENGINES },
	{ TRN4_BAR0_SE_APB(1) + TRN2_SE_FIS(1, 0), TRN4_FIS_BLOCKS },
	{ TRN4_BAR0_SE_APB(2) + TRN2_SE_ENGINE(2, 0), TRN4_DATA_ENGINES },
	{ TRN4_BAR0_SE_APB(2) + TRN2_SE_FIS(2, 0), TRN4_FIS_BLOCKS },
	{ TRN4_BAR0_SE_APB(3) + TRN2_SE_ENGINE(3, 0), TRN4_DATA_ENGINES },
	{ TRN4_BAR0_SE_APB(3) + TRN2_SE_FIS(3, 0), TRN4_FIS_BLOCKS },
	{ TRN4_BAR0_SE_APB(4) + TRN2_SE_ENGINE(4, 0), TRN4_DATA_ENGINES },
	{ TRN4_BAR0_SE_APB(4) + TRN2_SE_FIS(4, 0), TRN4_FIS_BLOCKS },
	{ TRN4_BAR0_SE_APB(5) + TRN2_SE_ENGINE(5, 0), TRN4_DATA_ENGINES },
	{ TRN4_BAR0_SE_APB(5) + TRN2_SE_FIS(5, 0), TRN4_FIS_BLOCKS },
	{ TRN4_BAR0_SE_APB(6) + TRN2_SE_ENGINE(6, 0), TRN4_DATA_ENGINES },
	{ TRN4_BAR0_SE_APB(6) + TRN2_SE_FIS(6, 0), TRN4_FIS_BLOCKS },
	{ TRN4_BAR0_SE_APB(7) + TRN2_SE_ENGINE(7, 0), TRN4_DATA_ENGINES },
	{ TRN4_BAR0_SE_APB(7) + TRN2_SE_FIS(7, 0), TRN4_FIS_BLOCKS },
	/* One core an engine group: where the even one of Trainium2 is */
	{ TRN4_BAR0_IO_APB(0) + TRN2_IO_PE_COUNTERS(0), TRN_PE_COUNTERS },
	{ TRN4_BAR0_IO_APB(0) + TRN2_IO_PE_COUNTERS(2), TRN_PE_COUNTERS },
	{ TRN4_BAR0_IO_APB(1) + TRN2_IO_PE_COUNTERS(0), TRN_PE_COUNTERS },
	{ TRN4_BAR0_IO_APB(1) + TRN2_IO_PE_COUNTERS(2), TRN_PE_COUNTERS },
	{ TRN4_BAR0_IO_APB(2) + TRN2_IO_PE_COUNTERS(0), TRN_PE_COUNTERS },
	{ TRN4_BAR0_IO_APB(2) + TRN2_IO_PE_COUNTERS(2), TRN_PE_COUNTERS },
	{ TRN4_BAR0_IO_APB(3) + TRN2_IO_PE_COUNTERS(0), TRN_PE_COUNTERS },
	{ TRN4_BAR0_IO_APB(3) + TRN2_IO_PE_COUNTERS(2), TRN_PE_COUNTERS },
};

const struct trn_hw trn_hw_trainium4 = {
	.name = "trainium4",
	.generation = 4,
	.sequencer_engines = TRN2_SEQUENCER_ENGINES,
	.num_engines = TRN4_NUM_ENGINES,
	.num_data_engines = TRN4_NUM_DATA_ENGINES,
	.num_cores = TRN4_NUM_CORES,
	.num_stacks = TRN4_NUM_HBM,
	.num_dies = TRN4_NUM_DIES,
	.hbm_size = TRN4_HBM_SIZE,
	.hbm_window = TRN2_HBM_WINDOW,
	.hbm_axi = { TRN2_AXI_HBM(0), TRN2_AXI_HBM(1), TRN2_AXI_HBM(2), TRN2_AXI_HBM(3),
		     TRN2_AXI_HBM(4), TRN2_AXI_HBM(5), TRN2_AXI_HBM(6), TRN2_AXI_HBM(7) },
	.host_window = TRN2_AXI_HOST,
	.host_bits = 46,
	.misc_offset = TRN4_BAR0_IO_APB(0) + TRN2_IO_MISC_RAM,
	.windows = trn4_windows,
	.num_windows = ARRAY_SIZE(trn4_windows),
	.regs_size = TRN2_BAR0_SIZE,
	.engines_per_se = TRN4_ENGINES_PER_SE,
	.io_stride = TRN4_BAR0_IO_APB(1),
	.se_base = TRN4_BAR0_SE_APB(0),
	.reset_dma_shift = TRN2_RESET_MAP_DMA_SHIFT,
	.reset_top_sp_shift = TRN2_RESET_MAP_TOP_SP_SHIFT,
	.reset_top_sps = 1,
	.udma = &trn3_udma,
};

/* --- Trainium1 --- */

static const struct trn_window trn1_windows[] = {
	/* The engines of a core, their wrappers, counters, and the host engine */
	{ TRN1_BAR0_APB + TRN1_UDMA(0), TRN1_CORE_STRIDE },
	{ TRN1_BAR0_APB + TRN1_UDMA(1), TRN1_CORE_STRIDE },
	{ TRN1_BAR0_APB + TRN1_MISC_RAM, TRN_MISC_SIZE },
};

static const struct trn_udma_cfg trn1_udma = {
	.m2s_data_cfg = 0x01000400,
	.m2s_ostand = 0x0000086f,
	.s2m_ostand_rd = 0x00400008,
	.broadcast = true,
	.axi_errors = true,
};

static const u8 trn1_torus[] = { 0, 4, 1, 5, 3, 7, 2, 6, 12, 8, 13, 9, 15, 11, 14, 10 };

const struct trn_hw trn_hw_trainium1 = {
	.name = "trainium1",
	.generation = 1,
	.sequencer_engines = TRN1_SEQUENCER_ENGINES,
	.num_engines = TRN1_NUM_ENGINES,
	.num_data_engines = TRN1_NUM_DATA_ENGINES,
	.num_cores = TRN1_NUM_CORES,
	.num_stacks = TRN1_NUM_HBM,
	.num_dies = TRN1_NUM_DIES,
	.hbm_size = TRN1_HBM_SIZE,
	.hbm_window = TRN1_HBM_WINDOW,
	.hbm_axi = { TRN1_AXI_HBM(0), TRN1_AXI_HBM(1) },
	.host_window = TRN1_AXI_HOST,
	.host_bits = 44,
	.misc_offset = TRN1_BAR0_APB + TRN1_MISC_RAM,
	.windows = trn1_windows,
	.num_windows = ARRAY_SIZE(trn1_windows),
	.regs_size = TRN1_BAR0_SIZE,
	.all_reach_host = true,
	/* No bits of their own: the engines go with their core. */
	.reset_dma_shift = TRN2_RESET_MAP_TPB_SHIFT,
	.reset_top_sp_shift = TRN1_RESET_MAP_TOP_SP_SHIFT,
	.reset_top_sps = TRN1_NUM_TOP_SP / TRN1_NUM_CORES,
	.torus = trn1_torus,
	.udma = &trn1_udma,
};

/* --- where things are --- */

/* In the APB that an engine is in: Trainium1 has one, else it is that of the IO die or the group */
static u32 trn_engine_in_apb(const struct trn_hw *hw, unsigned int engine)
{
	unsigned int host = engine - hw->num_data_engines;

	if (!hw->engines_per_se) {
		if (engine >= hw->num_data_engines)
			return TRN1_UDMA_HOST(host);
		return TRN1_UDMA(engine / TRN_ENGINES_PER_CORE) +
		       engine % TRN_ENGINES_PER_CORE * TRN1_UDMA_STRIDE;
	}
	if (engine >= hw->num_data_engines)
		return host % 2 ? TRN2_IO_UDMA_H2D : TRN2_IO_UDMA_D2H;
	return TRN2_SE_ENGINE(engine / hw->engines_per_se, engine % hw->engines_per_se);
}

/* BAR0 offset of that APB */
static u32 trn_engine_apb(const struct trn_hw *hw, unsigned int engine)
{
	if (!hw->engines_per_se)
		return TRN1_BAR0_APB;
	if (engine >= hw->num_data_engines)
		return (engine - hw->num_data_engines) / 2 * hw->io_stride;
	return hw->se_base + engine / hw->engines_per_se * TRN2_SE_APB_SIZE;
}

/* AXI address of that APB */
static u64 trn_engine_apb_axi(const struct trn_hw *hw, unsigned int engine)
{
	if (!hw->engines_per_se)
		return TRN1_AXI_BAR0 + TRN1_BAR0_APB;
	if (engine >= hw->num_data_engines)
		return TRN2_AXI_IO_APB((engine - hw->num_data_engines) / 2);
	return TRN2_AXI_SE_APB(engine / hw->engines_per_se);
}

/* In that APB, the SDMA wrapper */
static u32 trn_sdma_in_apb(const struct trn_hw *hw, unsigned int engine)
{
	if (hw->engines_per_se)
		return trn_engine_in_apb(hw, engine) + TRN2_ENGINE_SDMA;
	if (engine >= hw->num_data_engines)
		return TRN1_SDMA_HOST(engine - hw->num_data_engines);
	return TRN1_SDMA(engine / TRN_ENGINES_PER_CORE) +
	       engine % TRN_ENGINES_PER_CORE * TRN1_SDMA_STRIDE;
}

/* Queue pairs of an engine that no queue may have: bit q for pair q */
u32 trn_hw_engine_reserved(const struct trn_hw *hw, unsigned int engine)
{
	if (engine >= hw->num_data_engines ||
	    !(hw->sequencer_engines & BIT(engine % TRN_ENGINES_PER_CORE)))
		return 0;
	return BIT(TRN_PAIR_SEQUENCER);
}

/* BAR0 offset of an engine's UDMA block */
u32 trn_hw_engine_regs(const struct trn_hw *hw, unsigned int engine)
{
	return trn_engine_apb(hw, engine) + trn_engine_in_apb(hw, engine);
}

/* BAR0 offset of its SDMA wrapper */
u32 trn_hw_engine_sdma(const struct trn_hw *hw, unsigned int engine)
{
	return trn_engine_apb(hw, engine) + trn_sdma_in_apb(hw, engine);
}

/* AXI address of its SDMA wrapper */
u64 trn_hw_engine_sdma_axi(const struct trn_hw *hw, unsigned int engine)
{
	return trn_engine_apb_axi(hw, engine) + trn_sdma_in_apb(hw, engine);
}

/* BAR0 offset of a data engine's FIS block; 0: it has none */
u32 trn_hw_engine_fis(const struct trn_hw *hw, unsigned int engine)
{
	if (!hw->engines_per_se || engine >= hw->num_data_engines)
		return 0;
	return trn_engine_apb(hw, engine) +
	       TRN2_SE_FIS(engine / hw->engines_per_se, engine % hw->engines_per_se);
}

/* BAR0 offset of a core's activity counters */
u32 trn_hw_pe(const struct trn_hw *hw, unsigned int core)
{
	unsigned int cores_per_se, se;

	if (!hw->engines_per_se)
		return TRN1_BAR0_APB + TRN1_PE_COUNTERS(core);
	cores_per_se = hw->engines_per_se / TRN_ENGINES_PER_CORE;
	se = core / cores_per_se;
	return se / 2 * hw->io_stride + TRN2_IO_PE_COUNTERS(2 * (se % 2) + core % cores_per_se);
}

/* HBM stack nearest to an engine: one each for an engine group, and for a host engine */
unsigned int trn_hw_engine_stack(const struct trn_hw *hw, unsigned int engine)
{
	if (engine >= hw->num_data_engines)
		return engine - hw->num_data_engines;
	return engine / (hw->num_data_engines / hw->num_stacks);
}

/* Core of an engine, ~0u for host engines */
unsigned int trn_hw_engine_core(const struct trn_hw *hw, unsigned int engine)
{
	return engine < hw->num_data_engines ? engine / TRN_ENGINES_PER_CORE : ~0u;
}

/* Does it reach host memory? */
bool trn_hw_engine_has_host(const struct trn_hw *hw, unsigned int engine)
{
	return hw->all_reach_host || engine >= hw->num_data_engines || TRN2_ENGINE_HAS_HOST(engine);
}

/* The firmware's map to reset a core, its 16 engines and its TOP_SPs */
u64 trn_hw_core_map(const struct trn_hw *hw, unsigned int core)
{
	u64 top_sps = GENMASK(hw->reset_top_sps - 1, 0) << core * hw->reset_top_sps;

	return BIT(core) << TRN2_RESET_MAP_TPB_SHIFT | BIT(core) << hw->reset_dma_shift |
	       top_sps << hw->reset_top_sp_shift;
}

/* The bit in such a map that resets an engine; host engines have one each. */
u64 trn_hw_engine_bit(const struct trn_hw *hw, unsigned int engine)
{
	if (engine < hw->num_data_engines)
		return BIT(trn_hw_engine_core(hw, engine)) << hw->reset_dma_shift;
	return BIT_ULL(TRN2_RESET_MAP_HOST_SHIFT + engine - hw->num_data_engines);
}

/* The vendor's device number, where chips are in a torus: the server of 16 stays. */
unsigned int trn_hw_device_index(const struct trn_hw *hw, unsigned int routing_id)
{
	if (!hw->torus)
		return routing_id;
	return round_down(routing_id, TRN_TORUS_SIZE) + hw->torus[routing_id % TRN_TORUS_SIZE];
}

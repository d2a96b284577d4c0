/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * AWS Trainium: QOM types, PCI function, properties, reset and migration.
 *
 * The model is of the silicon flavour (revision 1): firmware handshake, BAR0
 * with the register windows, BAR4 with HBM. BAR2 is this project's extension.
 */
#include "qemu/osdep.h"
#include "qemu/module.h"
#include "qemu/units.h"
#include "qapi/error.h"
#include "hw/intc/intc.h"
#include "hw/pci/msix.h"
#include "hw/pci/pcie.h"
#include "hw/pci/pcie_aer.h"
#include "hw/qdev-properties.h"
#include "hw/qdev-properties-system.h"
#include "fault.h"
#include "trace.h"

#define PCIE_CAP_OFFSET 0x80
#define AER_OFFSET 0x100
#define STACK_MIN (64 * MiB)
#define STACK_ALIGN (2 * MiB)

/* --- size of the memory --- */

static bool trn_set_sizes(TrnDevice *d, Error **errp)
{
    const TrnGeneration *g = d->gen;
    uint64_t full = g->hbm_size * g->num_stacks;

    if (!d->hbm_size) {
        d->hbm_size = full;
    }
    d->stack_size = d->hbm_size / g->num_stacks;
    if (d->hbm_size % (g->num_stacks * STACK_ALIGN) ||
        d->stack_size < STACK_MIN || d->stack_size > g->hbm_size) {
        error_setg(errp, "hbm-size is the memory of the whole chip: from %u "
                   "MiB to %" PRIu64 " GiB, a multiple of %u MiB",
                   (unsigned)(g->num_stacks * STACK_MIN / MiB), full / GiB,
                   (unsigned)(g->num_stacks * STACK_ALIGN / MiB));
        return false;
    }
    if (!d->bar4_size) {
        d->bar4_size = d->hbm_size == full ? g->bar4_size :
            MIN(g->bar4_size, g->num_stacks * pow2ceil(d->stack_size));
    }
    if (!is_power_of_2(d->bar4_size) || d->bar4_size > g->bar4_max ||
        d->bar4_size < g->num_stacks * STACK_ALIGN) {
        error_setg(errp, "bar4-size is a power of two from %u MiB to %" PRIu64
                   " GiB", (unsigned)(g->num_stacks * STACK_ALIGN / MiB),
                   g->bar4_max / GiB);
        return false;
    }
    return true;
}

/* --- reset --- */

/*
 * System reset and FLR. The contents of HBM stay: only switching off loses
 * them, and software has to treat them as undefined in any case.
 */
void trn_cold_reset(TrnDevice *d)
{
    unsigned i;

    trace_trn_reset(d->routing_id);
    trn_exec_reset(d);
    trn_udma_reset_all(d);
    for (i = 0; i < d->num_engines; i++) {
        TrnEngine *e = &d->engine[i];

        trn_sdma_reset_engine(d, i);
        e->bytes = e->packets = e->aborts = 0;
    }
    trn_time_reset(d);
    trn_ext_reset(d);
    trn_tpb_reset(d);
    trn_fw_reset(d);
    trn_fault_reset(d);
    trn_fabric_reset(d, true);
}

static void trn_reset_hold(Object *obj, ResetType type)
{
    trn_cold_reset(TRAINIUM(obj));
    trn_rebar_reset(TRAINIUM(obj));
    pcie_cap_deverr_reset(PCI_DEVICE(obj));
    pcie_cap_lnkctl_reset(PCI_DEVICE(obj));
}

/* --- PCI --- */

static uint32_t trn_read_config(PCIDevice *pdev, uint32_t addr, int len)
{
    return TRAINIUM(pdev)->gone ? UINT32_MAX >> (32 - 8 * len) :
                                  pci_default_read_config(pdev, addr, len);
}

static void trn_write_config(PCIDevice *pdev, uint32_t addr, uint32_t val,
                             int len)
{
    if (TRAINIUM(pdev)->gone) {
        return;
    }
    pci_default_write_config(pdev, addr, val, len);
    trn_rebar_write_config(TRAINIUM(pdev), addr, len);
    pcie_cap_flr_write_config(pdev, addr, val, len);
    pcie_aer_write_config(pdev, addr, val, len);
}

static bool trn_init_pcie(TrnDevice *d, Error **errp)
{
    PCIDevice *pdev = PCI_DEVICE(d);

    if (pcie_endpoint_cap_init(pdev, PCIE_CAP_OFFSET) < 0) {
        error_setg(errp, "cannot add the PCI Express capability");
        return false;
    }
    if (pcie_cap_get_type(pdev) == PCI_EXP_TYPE_ENDPOINT) {
        pcie_cap_fill_link_ep_usp(pdev, d->link_width, d->link_speed);
        pcie_cap_lnkctl_init(pdev);
    }
    pcie_cap_deverr_init(pdev);
    pcie_cap_flr_init(pdev);
    if (pcie_aer_init(pdev, PCI_ERR_VER, AER_OFFSET, PCI_ERR_SIZEOF,
                      errp) < 0) {
        return false;
    }
    trn_rebar_init(d);
    return true;
}

/*
 * The chip leaves, perhaps in the middle of its own DMA: everything stops now,
 * and what the DMA still works with stays until the object is finalized.
 */
static void trn_exit(PCIDevice *pdev)
{
    TrnDevice *d = TRAINIUM(pdev);

    trn_fabric_detach(d);
    d->gone = true;
    trn_fault_exit(d);
    if (d->exec) {
        trn_udma_reset_all(d);
    }
    trn_exec_exit(d);
    trn_host_exit(d);
    trn_fw_exit(d);
    trn_ext_exit(d);
    trn_axi_exit_bars(d);
    if (pdev->exp.aer_cap) {
        pcie_aer_exit(pdev);
    }
    if (pdev->exp.exp_cap) {
        pcie_cap_exit(pdev);
    }
}

static bool trn_set_device_id(TrnDevice *d, Error **errp)
{
    uint16_t id = d->pci_device_id ?: d->gen->pci_device_id;

    if (id != d->gen->pci_device_id && id != d->gen->pci_device_id_b) {
        error_setg(errp, "%s does not have the PCI device id 0x%04x",
                   d->gen->name, id);
        return false;
    }
    pci_config_set_device_id(PCI_DEVICE(d)->config, id);
    return true;
}

static void trn_realize(PCIDevice *pdev, Error **errp)
{
    TrnDevice *d = TRAINIUM(pdev);

    d->gen = TRAINIUM_GET_CLASS(d)->gen;
    d->place = d->place_hit = TRAINIUM_GET_CLASS(d)->place;
    d->num_places = TRAINIUM_GET_CLASS(d)->num_places;
    if (!trn_set_device_id(d, errp) || !trn_set_sizes(d, errp)) {
        return;
    }
    trn_udma_init(d);
    if (!trn_hbm_init(d, errp) ||
        !trn_axi_init_bars(d, errp) ||
        !trn_ext_init(d, errp) ||
        !trn_fault_init(d, errp) ||
        !trn_init_pcie(d, errp) ||
        !trn_host_init(d, errp) ||
        !trn_exec_init(d, errp) ||
        !trn_fabric_attach(d, errp) ||
        !trn_fw_init(d, errp)) {
        trn_exit(pdev);
    }
}

static void trn_instance_init(Object *obj)
{
    trn_fault_instance_init(TRAINIUM(obj));
}

static void trn_instance_finalize(Object *obj)
{
    TrnDevice *d = TRAINIUM(obj);

    trn_exec_finalize(d);
    trn_fault_finalize(d);
    trn_fw_finalize(d);
    trn_udma_finalize(d);
    trn_host_finalize(d);
    /* Here, not in exit: until now the memory map may have used it. */
    trn_hbm_exit(d);
}

/* --- migration --- */

static int trn_post_load(void *opaque, int version_id)
{
    TrnDevice *d = opaque;

    d->pending_addr &= ~(uint64_t)(TRN_EXT_PENDING_STRIDE - 1);
    trn_exec_reset(d);
    return trn_rebar_post_load(d) ? 0 : -EINVAL;
}

static const VMStateDescription vmstate_trn = {
    .name = TYPE_TRAINIUM,
    .version_id = 1,
    .minimum_version_id = 1,
    .post_load = trn_post_load,
    .fields = (const VMStateField[]) {
        VMSTATE_PCI_DEVICE(parent_obj, TrnDevice),
        VMSTATE_MSIX(parent_obj, TrnDevice),
        VMSTATE_UINT32_EQUAL(num_engines, TrnDevice, "number of engines"),
        VMSTATE_UINT64_EQUAL(stack_size, TrnDevice, "hbm-size"),
        VMSTATE_UINT64_EQUAL(bar4_size, TrnDevice, "bar4-size"),
        VMSTATE_UINT32_EQUAL(msix_vectors, TrnDevice, "msix-vectors"),
        VMSTATE_UINT64(pending_addr, TrnDevice),
        VMSTATE_UINT32(pending_lo_latch, TrnDevice),
        VMSTATE_UINT32_ARRAY(route, TrnDevice,
                             TRN_EXT_MAX_ENGINES * TRN_EXT_ROUTE_SLOTS),
        VMSTATE_UINT64(clock_ns, TrnDevice),
        VMSTATE_UINT64_ARRAY(stack_bytes, TrnDevice, TRN_MAX_STACKS),
        VMSTATE_UINT32(clock_hi_latch, TrnDevice),
        VMSTATE_STRUCT_VARRAY_POINTER_UINT32(engine, TrnDevice, num_engines,
                                             vmstate_trn_engine, TrnEngine),
        VMSTATE_STRUCT_ARRAY(core, TrnDevice, TRN_MAX_CORES, 1,
                             vmstate_trn_core, TrnCore),
        VMSTATE_STRUCT_ARRAY(top_sp, TrnDevice, TRN_MAX_TOP_SP, 1,
                             vmstate_trn_top_sp, TrnTopSp),
        VMSTATE_STRUCT_POINTER(fw, TrnDevice, vmstate_trn_fw, TrnFw),
        VMSTATE_ARRAY(hbm, TrnDevice, TRN_MAX_STACKS, 1,
                      vmstate_info_trn_store, TrnStore),
        VMSTATE_SINGLE(preproc, TrnDevice, 1, vmstate_info_trn_store,
                       TrnStore),
        VMSTATE_SINGLE(sbuf, TrnDevice, 1, vmstate_info_trn_store, TrnStore),
        VMSTATE_END_OF_LIST()
    }
};

/* --- types --- */

static const Property trn_properties[] = {
    DEFINE_PROP_SIZE("hbm-size", TrnDevice, hbm_size, 0),
    DEFINE_PROP_SIZE("bar4-size", TrnDevice, bar4_size, 0),
    DEFINE_PROP_UINT16("pci-device-id", TrnDevice, pci_device_id, 0),
    DEFINE_PROP_UINT32("msix-vectors", TrnDevice, msix_vectors, 32),
    DEFINE_PROP_UINT32("routing-id", TrnDevice, routing_id, UINT32_MAX),
    DEFINE_PROP_UINT64("serial", TrnDevice, serial, 0),
    DEFINE_PROP_LINK("fabric", TrnDevice, fabric, TYPE_NEURON_FABRIC,
                     TrnFabric *),
    DEFINE_PROP_UINT32("fabric-id", TrnDevice, fabric_id, UINT32_MAX),
    DEFINE_PROP_UINT64("reorder", TrnDevice, reorder_seed, 0),
    DEFINE_PROP_BOOL("payload", TrnDevice, payload, true),
    DEFINE_PROP_BOOL("ext", TrnDevice, ext, true),
    DEFINE_PROP_BOOL("bar4", TrnDevice, bar4_present, true),
    DEFINE_PROP_BOOL("strict-host-access", TrnDevice, strict_host_access,
                     false),
    DEFINE_PROP_PCIE_LINK_SPEED("link-speed", TrnDevice, link_speed,
                                PCIE_LINK_SPEED_32),
    DEFINE_PROP_PCIE_LINK_WIDTH("link-width", TrnDevice, link_width,
                                PCIE_LINK_WIDTH_8),
};

static void trn_class_init(ObjectClass *oc, void *data)
{
    DeviceClass *dc = DEVICE_CLASS(oc);
    PCIDeviceClass *k = PCI_DEVICE_CLASS(oc);
    ResettableClass *rc = RESETTABLE_CLASS(oc);

    k->realize = trn_realize;
    k->exit = trn_exit;
    k->config_read = trn_read_config;
    k->config_write = trn_write_config;
    k->vendor_id = TRN_PCI_VENDOR_ID;
    k->revision = TRN_PCI_REVISION_SILICON;
    k->class_id = TRN_PCI_CLASS;
    rc->phases.hold = trn_reset_hold;
    dc->vmsd = &vmstate_trn;
    set_bit(DEVICE_CATEGORY_MISC, dc->categories);
    device_class_set_props(dc, trn_properties);

    object_class_property_set_description(oc, "hbm-size",
        "HBM of the whole chip, shared out evenly over its stacks: from 64M "
        "a stack, a multiple of 2M (0: as the silicon has)");
    object_class_property_set_description(oc, "bar4-size",
        "Size of the HBM window, an equal part for each stack (0: the whole "
        "of each stack)");
    object_class_property_set_description(oc, "pci-device-id",
        "PCI device id, of those that the generation has (0: the first one)");
    object_class_property_set_description(oc, "msix-vectors",
        "MSI-X vectors, 0 to 64 (0: none, drivers poll)");
    object_class_property_set_description(oc, "routing-id",
        "Number of the chip in its host, 0 to 255 (default: next free one)");
    object_class_property_set_description(oc, "serial",
        "Serial number (0: derived from the routing id)");
    object_class_property_set_description(oc, "fabric",
        "Fabric the chip is joined to others by: id of a neuron-fabric object");
    object_class_property_set_description(oc, "fabric-id",
        "Number of the chip in its fabric (default: next free one)");
    object_class_property_set_description(oc, "reorder",
        "Seed: run DMA in any order that the barriers allow (0: in order)");
    object_class_property_set_description(oc, "ext",
        "Extension BAR2: MSI-X, event routing, model clock");
    object_class_property_set_description(oc, "bar4",
        "BAR4 present: the CPU can map HBM");
    object_class_property_set_description(oc, "strict-host-access",
        "Data engines without host connectivity get an error when they touch "
        "host memory");
    object_class_property_set_description(oc, "link-speed",
        "PCIe link speed in GT/s, seen behind a port");
    object_class_property_set_description(oc, "link-width",
        "PCIe link width, seen behind a port");
    trn_fault_class_init(oc);
    trn_fabric_class_init(oc);
    trn_hmp_class_init(oc);
    trn_bench_class_init(oc);
}

static void trn_generation_class_init(ObjectClass *oc, void *data)
{
    TrnDeviceClass *tc = TRAINIUM_CLASS(oc);

    tc->gen = data;
    tc->place = trn_places_new(tc->gen, &tc->num_places);
    PCI_DEVICE_CLASS(oc)->device_id = tc->gen->pci_device_id;
    DEVICE_CLASS(oc)->desc = tc->gen->description;
    trn_fw_class_init(oc, tc->gen);
}

#define TRN_TYPE(n) { \
        .name = "trainium" #n, \
        .parent = TYPE_TRAINIUM, \
        .class_init = trn_generation_class_init, \
        .class_data = (void *)&trn_trainium##n, \
    }

static const TypeInfo trn_types[] = {
    {
        .name = TYPE_TRAINIUM,
        .parent = TYPE_PCI_DEVICE,
        .instance_size = sizeof(TrnDevice),
        .instance_init = trn_instance_init,
        .instance_finalize = trn_instance_finalize,
        .class_size = sizeof(TrnDeviceClass),
        .class_init = trn_class_init,
        .abstract = true,
        .interfaces = (InterfaceInfo[]) {
            { INTERFACE_PCIE_DEVICE },
            { TYPE_INTERRUPT_STATS_PROVIDER },
            { }
        },
    },
    TRN_TYPE(1),
    TRN_TYPE(2),
    TRN_TYPE(3),
    TRN_TYPE(4),
};

DEFINE_TYPES(trn_types)

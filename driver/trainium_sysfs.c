// SPDX-License-Identifier: GPL-2.0-only
/*
 * Attributes of the PCI device: what was read at probe or counted since, and
 * what the firmware tells now. Described in
 * Documentation/ABI/testing/sysfs-driver-trainium.
 */
#include <linux/device.h>
#include <linux/stddef.h>
#include <linux/sysfs.h>

#include "trainium_fabric.h"

static ssize_t generation_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct trn_device *tdev = dev_get_drvdata(dev);

	return sysfs_emit(buf, "%u\n", tdev->hw->generation);
}
static DEVICE_ATTR_RO(generation);

static ssize_t serial_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct trn_device *tdev = dev_get_drvdata(dev);

	return sysfs_emit(buf, "%016llx\n", tdev->serial);
}
static DEVICE_ATTR_RO(serial);

static ssize_t routing_id_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct trn_device *tdev = dev_get_drvdata(dev);

	return sysfs_emit(buf, "%u\n", tdev->routing_id);
}
static DEVICE_ATTR_RO(routing_id);

static ssize_t fw_api_version_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct trn_device *tdev = dev_get_drvdata(dev);

	return sysfs_emit(buf, "%u\n", tdev->fw_api_version);
}
static DEVICE_ATTR_RO(fw_api_version);

static ssize_t fw_build_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct trn_device *tdev = dev_get_drvdata(dev);

	return sysfs_emit(buf, "%u\n", tdev->fw_build);
}
static DEVICE_ATTR_RO(fw_build);

static ssize_t reset_count_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct trn_device *tdev = dev_get_drvdata(dev);

	return sysfs_emit(buf, "%llu\n", (u64)atomic64_read(&tdev->reset_count));
}
static DEVICE_ATTR_RO(reset_count);

/* Of the telemetry, a number: @member is its offset. */
struct trn_telemetry_attr {
	struct device_attribute attr;
	unsigned int member;
	/* Shown if there is this stack or die, and if the firmware knows of it */
	unsigned int index;
	u32 valid;
};

static int trn_sysfs_telemetry(struct device *dev, struct drm_trainium_query_telemetry *t)
{
	return trn_telemetry_read(dev_get_drvdata(dev), t);
}

static ssize_t telemetry_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	const struct trn_telemetry_attr *a = container_of(attr, struct trn_telemetry_attr, attr);
	struct drm_trainium_query_telemetry t;
	int ret = trn_sysfs_telemetry(dev, &t);

	if (ret)
		return ret;
	return sysfs_emit(buf, "%u\n", *(u32 *)((void *)&t + a->member));
}

#define TRN_TELEMETRY_ATTR(_name, _member, _index, _valid)				\
	static struct trn_telemetry_attr trn_attr_##_name = {				\
		.attr = __ATTR(_name, 0444, telemetry_show, NULL),			\
		.member = offsetof(struct drm_trainium_query_telemetry, _member),	\
		.index = (_index),							\
		.valid = (_valid),							\
	}

TRN_TELEMETRY_ATTR(sram_corrected, sram_ecc_corrected, 0, 0);
TRN_TELEMETRY_ATTR(sram_uncorrected, sram_ecc_uncorrected, 0, 0);
TRN_TELEMETRY_ATTR(hbm0_corrected, hbm_ecc_corrected[0], 0, 0);
TRN_TELEMETRY_ATTR(hbm0_uncorrected, hbm_ecc_uncorrected[0], 0, 0);
TRN_TELEMETRY_ATTR(hbm0_repairable, hbm_ecc_repairable[0], 0, TRAINIUM_TELEMETRY_REPAIRABLE);
TRN_TELEMETRY_ATTR(hbm1_corrected, hbm_ecc_corrected[1], 1, 0);
TRN_TELEMETRY_ATTR(hbm1_uncorrected, hbm_ecc_uncorrected[1], 1, 0);
TRN_TELEMETRY_ATTR(hbm1_repairable, hbm_ecc_repairable[1], 1, TRAINIUM_TELEMETRY_REPAIRABLE);
TRN_TELEMETRY_ATTR(hbm2_corrected, hbm_ecc_corrected[2], 2, 0);
TRN_TELEMETRY_ATTR(hbm2_uncorrected, hbm_ecc_uncorrected[2], 2, 0);
TRN_TELEMETRY_ATTR(hbm2_repairable, hbm_ecc_repairable[2], 2, TRAINIUM_TELEMETRY_REPAIRABLE);
TRN_TELEMETRY_ATTR(hbm3_corrected, hbm_ecc_corrected[3], 3, 0);
TRN_TELEMETRY_ATTR(hbm3_uncorrected, hbm_ecc_uncorrected[3], 3, 0);
TRN_TELEMETRY_ATTR(hbm3_repairable, hbm_ecc_repairable[3], 3, TRAINIUM_TELEMETRY_REPAIRABLE);
TRN_TELEMETRY_ATTR(hbm4_corrected, hbm_ecc_corrected[4], 4, 0);
TRN_TELEMETRY_ATTR(hbm4_uncorrected, hbm_ecc_uncorrected[4], 4, 0);
TRN_TELEMETRY_ATTR(hbm4_repairable, hbm_ecc_repairable[4], 4, TRAINIUM_TELEMETRY_REPAIRABLE);
TRN_TELEMETRY_ATTR(hbm5_corrected, hbm_ecc_corrected[5], 5, 0);
TRN_TELEMETRY_ATTR(hbm5_uncorrected, hbm_ecc_uncorrected[5], 5, 0);
TRN_TELEMETRY_ATTR(hbm5_repairable, hbm_ecc_repairable[5], 5, TRAINIUM_TELEMETRY_REPAIRABLE);
TRN_TELEMETRY_ATTR(hbm6_corrected, hbm_ecc_corrected[6], 6, 0);
TRN_TELEMETRY_ATTR(hbm6_uncorrected, hbm_ecc_uncorrected[6], 6, 0);
TRN_TELEMETRY_ATTR(hbm6_repairable, hbm_ecc_repairable[6], 6, TRAINIUM_TELEMETRY_REPAIRABLE);
TRN_TELEMETRY_ATTR(hbm7_corrected, hbm_ecc_corrected[7], 7, 0);
TRN_TELEMETRY_ATTR(hbm7_uncorrected, hbm_ecc_uncorrected[7], 7, 0);
TRN_TELEMETRY_ATTR(hbm7_repairable, hbm_ecc_repairable[7], 7, TRAINIUM_TELEMETRY_REPAIRABLE);
TRN_TELEMETRY_ATTR(die0, power_util[0], 0, TRAINIUM_TELEMETRY_POWER_UTIL);
TRN_TELEMETRY_ATTR(die1, power_util[1], 1, TRAINIUM_TELEMETRY_POWER_UTIL);
TRN_TELEMETRY_ATTR(die2, power_util[2], 2, TRAINIUM_TELEMETRY_POWER_UTIL);
TRN_TELEMETRY_ATTR(die3, power_util[3], 3, TRAINIUM_TELEMETRY_POWER_UTIL);

/* What the firmware of a device can tell, by its version */
static u32 trn_sysfs_valid(const struct trn_device *tdev)
{
	u32 valid = 0;

	if (tdev->fw_api_version >= TRN_FW_API_POWER)
		valid |= TRAINIUM_TELEMETRY_POWER_UTIL;
	if (tdev->fw_api_version >= TRN_FW_API_ECC_SPLIT)
		valid |= TRAINIUM_TELEMETRY_HEALTH | TRAINIUM_TELEMETRY_REPAIRABLE;
	return valid;
}

static umode_t trn_telemetry_attr_mode(struct kobject *kobj, struct attribute *attr,
				       unsigned int count)
{
	const struct trn_device *tdev = dev_get_drvdata(kobj_to_dev(kobj));
	const struct trn_telemetry_attr *a = container_of(attr, struct trn_telemetry_attr,
							  attr.attr);

	return a->index < count && !(a->valid & ~trn_sysfs_valid(tdev)) ? attr->mode : 0;
}

static umode_t trn_ecc_visible(struct kobject *kobj, struct attribute *attr, int n)
{
	const struct trn_device *tdev = dev_get_drvdata(kobj_to_dev(kobj));

	return trn_telemetry_attr_mode(kobj, attr, tdev->hw->num_stacks);
}

static umode_t trn_power_visible(struct kobject *kobj, struct attribute *attr, int n)
{
	const struct trn_device *tdev = dev_get_drvdata(kobj_to_dev(kobj));

	return trn_telemetry_attr_mode(kobj, attr, tdev->hw->num_dies);
}

static struct attribute *trn_ecc_attrs[] = {
	&trn_attr_sram_corrected.attr.attr,
	&trn_attr_sram_uncorrected.attr.attr,
	&trn_attr_hbm0_corrected.attr.attr,
	&trn_attr_hbm0_uncorrected.attr.attr,
	&trn_attr_hbm0_repairable.attr.attr,
	&trn_attr_hbm1_corrected.attr.attr,
	&trn_attr_hbm1_uncorrected.attr.attr,
	&trn_attr_hbm1_repairable.attr.attr,
	&trn_attr_hbm2_corrected.attr.attr,
	&trn_attr_hbm2_uncorrected.attr.attr,
	&trn_attr_hbm2_repairable.attr.attr,
	&trn_attr_hbm3_corrected.attr.attr,
	&trn_attr_hbm3_uncorrected.attr.attr,
	&trn_attr_hbm3_repairable.attr.attr,
	&trn_attr_hbm4_corrected.attr.attr,
	&trn_attr_hbm4_uncorrected.attr.attr,
	&trn_attr_hbm4_repairable.attr.attr,
	&trn_attr_hbm5_corrected.attr.attr,
	&trn_attr_hbm5_uncorrected.attr.attr,
	&trn_attr_hbm5_repairable.attr.attr,
	&trn_attr_hbm6_corrected.attr.attr,
	&trn_attr_hbm6_uncorrected.attr.attr,
	&trn_attr_hbm6_repairable.attr.attr,
	&trn_attr_hbm7_corrected.attr.attr,
	&trn_attr_hbm7_uncorrected.attr.attr,
	&trn_attr_hbm7_repairable.attr.attr,
	NULL
};

static const struct attribute_group trn_ecc_group = {
	.name = "ecc",
	.attrs = trn_ecc_attrs,
	.is_visible = trn_ecc_visible,
};

static struct attribute *trn_power_attrs[] = {
	&trn_attr_die0.attr.attr,
	&trn_attr_die1.attr.attr,
	&trn_attr_die2.attr.attr,
	&trn_attr_die3.attr.attr,
	NULL
};

static const struct attribute_group trn_power_group = {
	.name = "power_utilization",
	.attrs = trn_power_attrs,
	.is_visible = trn_power_visible,
};

static ssize_t health_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct drm_trainium_query_telemetry t;
	int ret = trn_sysfs_telemetry(dev, &t);

	return ret ?: sysfs_emit(buf, "0x%08x\n", t.health);
}
static DEVICE_ATTR_RO(health);

static ssize_t heartbeat_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct drm_trainium_query_telemetry t;
	int ret = trn_sysfs_telemetry(dev, &t);

	return ret ?: sysfs_emit(buf, "%u\n", t.heartbeat);
}
static DEVICE_ATTR_RO(heartbeat);

static struct attribute *trn_health_attrs[] = {
	&dev_attr_health.attr,
	&dev_attr_heartbeat.attr,
	NULL
};

static umode_t trn_health_visible(struct kobject *kobj, struct attribute *attr, int n)
{
	const struct trn_device *tdev = dev_get_drvdata(kobj_to_dev(kobj));

	return trn_sysfs_valid(tdev) & TRAINIUM_TELEMETRY_HEALTH ? attr->mode : 0;
}

static const struct attribute_group trn_health_group = {
	.attrs = trn_health_attrs,
	.is_visible = trn_health_visible,
};

static ssize_t hbm_repair_state_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	static const char * const names[] = { "none", "pending", "failed", "unknown" };
	struct drm_trainium_query_telemetry t;
	int ret = trn_sysfs_telemetry(dev, &t);

	return ret ?: sysfs_emit(buf, "%s\n", names[t.hbm_repair_state & TRN_HBM_REPAIR_MASK]);
}
static DEVICE_ATTR_RO(hbm_repair_state);

/* Of the fabric */

static const char * const trn_fabric_kinds[] = { "none", "neuronlink", "neuronswitch", "nvlink" };

static ssize_t kind_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	const struct trn_device *tdev = dev_get_drvdata(dev);

	return sysfs_emit(buf, "%s\n", trn_fabric_kinds[tdev->fabric->kind]);
}
static DEVICE_ATTR_RO(kind);

static ssize_t cluster_uuid_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	const struct trn_device *tdev = dev_get_drvdata(dev);

	return sysfs_emit(buf, "%pUb\n", &tdev->fabric->uuid);
}
static DEVICE_ATTR_RO(cluster_uuid);

#define TRN_FABRIC_ATTR(_name, _member)							\
	static ssize_t _name##_show(struct device *dev, struct device_attribute *attr,	\
				    char *buf)						\
	{										\
		struct drm_trainium_query_fabric q = { };				\
		int ret = trn_fabric_query(dev_get_drvdata(dev), &q);			\
											\
		return ret ?: sysfs_emit(buf, "%u\n", q._member);			\
	}										\
	static DEVICE_ATTR_RO(_name)

TRN_FABRIC_ATTR(chip, chip);
TRN_FABRIC_ATTR(num_chips, num_chips);
TRN_FABRIC_ATTR(rack, rack);
TRN_FABRIC_ATTR(server, server);
TRN_FABRIC_ATTR(position, position);
TRN_FABRIC_ATTR(partition, partition);
TRN_FABRIC_ATTR(partition_changes, partition_changes);
TRN_FABRIC_ATTR(num_ports, num_ports);

static ssize_t ports_up_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct drm_trainium_query_fabric q = { };
	int ret = trn_fabric_query(dev_get_drvdata(dev), &q);

	return ret ?: sysfs_emit(buf, "%lu\n", hweight64(q.ports_up));
}
static DEVICE_ATTR_RO(ports_up);

static struct attribute *trn_fabric_attrs[] = {
	&dev_attr_kind.attr,
	&dev_attr_cluster_uuid.attr,
	&dev_attr_chip.attr,
	&dev_attr_num_chips.attr,
	&dev_attr_rack.attr,
	&dev_attr_server.attr,
	&dev_attr_position.attr,
	&dev_attr_partition.attr,
	&dev_attr_partition_changes.attr,
	&dev_attr_num_ports.attr,
	&dev_attr_ports_up.attr,
	NULL
};

static umode_t trn_fabric_visible(struct kobject *kobj, struct attribute *attr, int n)
{
	const struct trn_device *tdev = dev_get_drvdata(kobj_to_dev(kobj));

	return tdev->fabric ? attr->mode : 0;
}

static const struct attribute_group trn_fabric_group = {
	.name = "fabric",
	.attrs = trn_fabric_attrs,
	.is_visible = trn_fabric_visible,
};

static struct attribute *trn_attrs[] = {
	&dev_attr_generation.attr,
	&dev_attr_serial.attr,
	&dev_attr_routing_id.attr,
	&dev_attr_fw_api_version.attr,
	&dev_attr_fw_build.attr,
	&dev_attr_reset_count.attr,
	&dev_attr_hbm_repair_state.attr,
	NULL
};

static const struct attribute_group trn_group = {
	.attrs = trn_attrs,
};

const struct attribute_group *trn_sysfs_groups[] = {
	&trn_group,
	&trn_health_group,
	&trn_ecc_group,
	&trn_power_group,
	&trn_fabric_group,
	NULL
};

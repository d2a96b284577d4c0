// SPDX-License-Identifier: MIT
/*
 * Finding and opening devices in a fake sysfs, and asking them.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "mock.h"

#define TEST(name) cmocka_unit_test_setup_teardown(name, mock_setup, mock_teardown)

static void test_natural_order(void **state)
{
	struct neuron_device_entry entry[16];
	int i;

	(void)state;
	mock_add_device(10, "0000:00:0e.0", "trainium", true);
	mock_add_device(9, "0000:00:0d.0", "trainium", true);
	mock_add_device(128, "0001:80:00.0", "trainium", true);
	mock_add_device(3, "0000:00:07.0", "ivpu", true);
	assert_int_equal(neuron_enumerate(entry, sizeof(entry[0]), 16), 5);
	for (i = 0; i < 5; i++) {
		assert_int_equal(entry[i].index, i);
		assert_int_equal(entry[i].size, sizeof(entry[0]));
		assert_int_equal(entry[i].numa_node, 1);
	}
	assert_int_equal(entry[2].accel, 9);
	assert_int_equal(entry[3].accel, 10);
	assert_string_equal(entry[3].pci_address, "0000:00:0e.0");
	assert_int_equal(entry[4].accel, 128);
	assert_string_equal(entry[4].pci_address, "0001:80:00.0");
	assert_non_null(strstr(entry[4].node, "/dev/accel128"));
}

static void test_capacity(void **state)
{
	struct neuron_device_entry entry[2];

	(void)state;
	memset(entry, 0x5a, sizeof(entry));
	assert_int_equal(neuron_enumerate(NULL, 0, 0), 2);
	assert_int_equal(neuron_enumerate(entry, sizeof(entry[0]), 1), 2);
	assert_int_equal(entry[0].index, 0);
	assert_int_equal(entry[1].index, 0x5a5a5a5a);
	assert_int_equal(neuron_enumerate(entry, 8, 1), -EINVAL);
	assert_int_equal(neuron_enumerate(NULL, sizeof(entry[0]), 1), -EINVAL);
}

static void test_longer_entry_of_a_newer_program(void **state)
{
	struct {
		struct neuron_device_entry entry;
		uint64_t more;
	} list[2];

	(void)state;
	memset(list, 0x5a, sizeof(list));
	assert_int_equal(neuron_enumerate(&list[0].entry, sizeof(list[0]), 2), 2);
	assert_int_equal(list[1].entry.index, 1);
	assert_int_equal(list[1].entry.size, sizeof(list[1].entry));
	assert_int_equal(list[1].more, 0);
}

static void test_nothing_there(void **state)
{
	struct neuron_device *device;

	(void)state;
	mock_remove_devices();
	mock_load_module(false);
	assert_int_equal(neuron_enumerate(NULL, 0, 0), 0);
	assert_sentence("the kernel module trainium is not loaded");
	assert_int_equal(neuron_device_open(0, &device), -ENODEV);
	assert_sentence("the kernel module trainium is not loaded");

	mock_load_module(true);
	assert_int_equal(neuron_device_open(0, &device), -ENODEV);
	assert_sentence("is loaded, but has found none");

	mock_add_device(0, "0000:00:04.0", "trainium", false);
	assert_int_equal(neuron_enumerate(NULL, 0, 0), 0);
	assert_int_equal(neuron_device_open(0, &device), -ENOENT);
	assert_sentence("none has its node");
}

static void test_container_with_some_nodes(void **state)
{
	struct neuron_device_entry entry[4];

	(void)state;
	mock_remove_devices();
	mock_add_device(0, "0000:00:04.0", "trainium", false);
	mock_add_device(2, "0000:00:06.0", "trainium", true);
	mock_add_device(5, "0000:00:09.0", "trainium", true);
	assert_int_equal(neuron_enumerate(entry, sizeof(entry[0]), 4), 2);
	assert_int_equal(entry[0].accel, 2);
	assert_int_equal(entry[1].index, 1);
	assert_int_equal(entry[1].accel, 5);
}

static void assert_opens(const char *name, const char *pci)
{
	struct neuron_device_info info = { .size = sizeof(info) };
	struct neuron_device *device;

	assert_int_equal(neuron_device_open_name(name, &device), 0);
	assert_int_equal(neuron_device_get_info(device, &info), 0);
	assert_string_equal(info.pci_address, pci);
	assert_string_equal(info.name, "trainium2");
	assert_string_equal(info.driver, "trainium");
	assert_int_equal(info.driver_version[1], 2);
	assert_int_equal(info.numa_node, 1);
	neuron_device_close(device);
}

static void test_open_by_name(void **state)
{
	char node[128];

	(void)state;
	assert_opens("0", "0000:00:04.0");
	assert_opens("1", "0000:00:05.0");
	assert_opens("accel1", "0000:00:05.0");
	assert_opens("0000:00:05.0", "0000:00:05.0");
	assert_opens("00:05.0", "0000:00:05.0");
	snprintf(node, sizeof(node), "%s/accel1", nrn_backend->dev_dir);
	assert_opens(node, "0000:00:05.0");
}

static void test_wrong_names(void **state)
{
	static const char *const bad[] = { "", "x", "accel", "accelx", "-1", "1x", "00:05", "00:05.",
					   "0000:00:05.0x", "99999999999", "0:0:0:0" };
	struct neuron_device *device = NULL;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(neuron_device_open_name(bad[i], &device), -EINVAL);
		assert_sentence("a path or a PCI address was expected");
	}
	assert_int_equal(neuron_device_open_name("00:06.0", &device), -ENODEV);
	assert_sentence("no device of the driver trainium at PCI address 00:06.0");
	assert_int_equal(neuron_device_open_name("accel7", &device), -ENOENT);
	assert_sentence("accel7 does not exist");
	assert_int_equal(neuron_device_open_name("2", &device), -ENODEV);
	assert_int_equal(neuron_device_open_name(NULL, &device), -EINVAL);
	assert_int_equal(neuron_device_open_name("0", NULL), -EINVAL);
	assert_int_equal(neuron_device_open(0, NULL), -EINVAL);
	assert_null(device);
}

static void test_open_errors(void **state)
{
	struct neuron_device *device;

	(void)state;
	mock.open_error = -EACCES;
	assert_int_equal(neuron_device_open(0, &device), -EACCES);
	assert_sentence("permission denied (owner");
	mock.open_error = -EPERM;
	assert_int_equal(neuron_device_open(0, &device), -EACCES);
	mock.open_error = -ENXIO;
	assert_int_equal(neuron_device_open(0, &device), -ENODEV);
	mock.open_error = -EMFILE;
	assert_int_equal(neuron_device_open(0, &device), -EMFILE);
	mock.open_error = 0;

	mock.driver = "ivpu";
	assert_int_equal(neuron_device_open(0, &device), -ENODEV);
	assert_sentence("is driven by ivpu, not by trainium");
	mock.driver = NULL;
	assert_int_equal(neuron_device_open(0, &device), -ENODEV);
	assert_sentence("is no accel device");
	mock.driver = "trainium";

	mock.uapi_major = 2;
	assert_int_equal(neuron_device_open(0, &device), -EOPNOTSUPP);
	assert_sentence("speaks version 2.");
	mock.uapi_major = 1;
	mock.fail_request = DRM_IOCTL_TRAINIUM_QUERY;
	mock.fail_error = -ENODEV;
	mock.fail_count = 1;
	assert_int_equal(neuron_device_open(0, &device), -ENODEV);
	assert_sentence("accel0: the device is gone");
	mock.fail_count = 1;
	mock.fail_skip = 1;
	mock.fail_error = -EFAULT;
	assert_int_equal(neuron_device_open(0, &device), -EFAULT);
}

static void test_open_fd(void **state)
{
	struct neuron_device *device;
	char node[128];
	int fd;

	(void)state;
	snprintf(node, sizeof(node), "%s/accel0", nrn_backend->dev_dir);
	fd = open(node, O_RDWR | O_CLOEXEC);
	assert_int_equal(neuron_device_open_fd(fd, &device), 0);
	assert_int_not_equal(neuron_device_get_fd(device), fd);
	close(fd);
	neuron_device_close(device);
	assert_int_equal(neuron_device_open_fd(-1, &device), -ENOENT);
	assert_int_equal(neuron_device_open_fd(fd, NULL), -EINVAL);
}

static void test_info_versions(void **state)
{
	struct {
		struct neuron_device_info info;
		uint64_t more;
	} newer;
	struct neuron_device *device;

	(void)state;
	assert_int_equal(neuron_device_open(0, &device), 0);
	memset(&newer, 0x5a, sizeof(newer));
	newer.info.size = sizeof(newer);
	assert_int_equal(neuron_device_get_info(device, &newer.info), 0);
	assert_int_equal(newer.info.size, sizeof(newer.info));
	assert_int_equal(newer.more, 0);
	assert_int_equal(newer.info.serial, 0x1122334455667788);
	assert_int_equal(newer.info.num_engines, 132);
	assert_int_equal(newer.info.pci_revision, 3);
	assert_true(newer.info.event_types == mock.event_types);
	newer.info.size = 4;
	assert_int_equal(neuron_device_get_info(device, &newer.info), -EINVAL);
	assert_sentence("struct neuron_device_info: member size is 4");
	newer.info.size = 0;
	assert_int_equal(neuron_device_get_info(device, &newer.info), -EINVAL);
	newer.info.size = 1u << 20;
	assert_int_equal(neuron_device_get_info(device, &newer.info), -EINVAL);
	assert_int_equal(neuron_device_get_info(device, NULL), -EINVAL);
	neuron_device_close(device);
	neuron_device_close(NULL);
}

static void test_memory(void **state)
{
	struct neuron_buffer_options options = { .size = sizeof(options), .stack = 2 };
	struct neuron_memory_info info = { .size = sizeof(info) };
	struct neuron_device *device;
	struct neuron_buffer *buffer;

	(void)state;
	assert_int_equal(neuron_device_open(0, &device), 0);
	assert_int_equal(neuron_buffer_create(device, NEURON_HBM, 1 << 20, &options, &buffer), 0);
	assert_int_equal(neuron_device_get_memory(device, 2, &info), 0);
	assert_int_equal(info.free, MOCK_STACK_SIZE - (1 << 20));
	assert_int_equal(info.buffers, 1);
	assert_int_equal(info.cpu_visible, MOCK_STACK_SIZE);
	assert_int_equal(info.cpu_visible_free, MOCK_STACK_SIZE - (1 << 20));
	assert_int_equal(neuron_device_get_memory(device, NEURON_STACK_ANY, &info), 0);
	assert_int_equal(info.total, 4 * MOCK_STACK_SIZE);
	assert_int_equal(info.free, 4 * MOCK_STACK_SIZE - (1 << 20));
	assert_int_equal(info.largest_free, MOCK_STACK_SIZE);
	assert_int_equal(neuron_device_get_memory(device, 4, &info), -EINVAL);
	assert_sentence("accel0: HBM stack 4 does not exist: there are 4");
	neuron_buffer_destroy(buffer);
	neuron_device_close(device);
}

static void test_limits_engine_telemetry(void **state)
{
	struct neuron_telemetry telemetry = { .size = sizeof(telemetry) };
	struct neuron_engine_info engine = { .size = sizeof(engine) };
	struct neuron_limits limits = { .size = sizeof(limits) };
	struct neuron_device *device;

	(void)state;
	assert_int_equal(neuron_device_open(1, &device), 0);
	assert_int_equal(neuron_device_get_limits(device, &limits), 0);
	assert_int_equal(limits.max_ops, 4096);
	assert_int_equal(limits.max_buffer_size, MOCK_STACK_SIZE);
	assert_true(limits.max_hbm == MOCK_STACK_SIZE);
	assert_true(limits.max_pinned == 1ull << 32);
	assert_int_equal(limits.max_buffers, 64);
	assert_int_equal(neuron_device_get_engine(device, 131, &engine), 0);
	assert_int_equal(engine.core, -1);
	assert_int_equal(engine.host_access, 1);
	assert_int_equal(engine.bytes, 4711);
	assert_int_equal(engine.busy_ns, 815);
	assert_false(engine.out_of_service);
	mock.out_of_service = true;
	assert_int_equal(neuron_device_get_engine(device, 5, &engine), 0);
	assert_true(engine.out_of_service);
	assert_int_equal(engine.rings_free, 0);
	mock.out_of_service = false;
	assert_int_equal(neuron_device_get_engine(device, 132, &engine), -EINVAL);
	assert_sentence("accel1: engine 132 does not exist");
	assert_int_equal(neuron_device_get_telemetry(device, &telemetry), 0);
	assert_int_equal(telemetry.hbm_ecc_corrected[3], 7);
	assert_int_equal(telemetry.heartbeat, 42);
	assert_int_equal(telemetry.power_util[1], 1234);
	assert_int_equal(telemetry.sensors, 1);
	assert_true(telemetry.energy_uj == 1ull << 40);
	assert_int_equal(telemetry.temperature[5], -40000);
	/* A program of version 0.1 */
	telemetry.size = offsetof(struct neuron_telemetry, pad);
	telemetry.pad = 0xee;
	assert_int_equal(neuron_device_get_telemetry(device, &telemetry), 0);
	assert_int_equal(telemetry.size, offsetof(struct neuron_telemetry, pad));
	assert_int_equal(telemetry.pad, 0xee);
	neuron_device_close(device);
}

static void test_reset(void **state)
{
	struct neuron_device *device;

	(void)state;
	assert_int_equal(neuron_device_open(0, &device), 0);
	assert_int_equal(neuron_device_reset(device), 0);
	assert_int_equal(mock.reset_count, 1);
	assert_int_equal(neuron_device_reset_core(device, 8), -EINVAL);
	assert_sentence("accel0: core 8 does not exist");
	mock.fail_request = DRM_IOCTL_TRAINIUM_RESET;
	mock.fail_count = 1;
	mock.fail_error = -EACCES;
	assert_int_equal(neuron_device_reset(device), -EPERM);
	assert_sentence("needs CAP_SYS_ADMIN");
	neuron_device_close(device);
}

static void test_gone(void **state)
{
	struct neuron_device_info info = { .size = sizeof(info) };
	struct neuron_device *device;

	(void)state;
	assert_int_equal(neuron_device_open(0, &device), 0);
	mock.fail_request = DRM_IOCTL_TRAINIUM_QUERY;
	mock.fail_count = 1;
	mock.fail_error = -ENODEV;
	assert_int_equal(neuron_device_get_info(device, &info), -ENODEV);
	assert_sentence("accel0: the device is gone");
	neuron_device_close(device);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_natural_order),
		TEST(test_capacity),
		TEST(test_longer_entry_of_a_newer_program),
		TEST(test_nothing_there),
		TEST(test_container_with_some_nodes),
		TEST(test_open_by_name),
		TEST(test_wrong_names),
		TEST(test_open_errors),
		TEST(test_open_fd),
		TEST(test_info_versions),
		TEST(test_memory),
		TEST(test_limits_engine_telemetry),
		TEST(test_reset),
		TEST(test_gone),
	};

	return cmocka_run_group_tests_name("device", tests, NULL, NULL);
}

// SPDX-License-Identifier: MIT
/* Places, ports, paths, groups, and ops that combine */
#include <errno.h>
#include <string.h>

#include "mock.h"

static struct neuron_device *open_device(unsigned int index)
{
	struct neuron_device *device;

	mock.features |= TRAINIUM_FEATURE_FABRIC;
	assert_int_equal(neuron_device_open(index, &device), 0);
	return device;
}

static void test_no_fabric(void **state)
{
	struct neuron_fabric_info info = { .size = sizeof(info) };
	struct neuron_port_info port = { .size = sizeof(port) };
	struct neuron_device *device;
	struct neuron_group *group;

	(void)state;
	assert_int_equal(neuron_device_open(0, &device), 0);
	assert_int_equal(neuron_fabric_get_info(device, &info), 0);
	assert_int_equal(info.kind, NEURON_FABRIC_NONE);
	assert_int_equal(neuron_port_get_info(device, 0, &port), -EOPNOTSUPP);
	assert_sentence("accel0: the device has no fabric");
	assert_int_equal(neuron_group_create(device, 2, &group), -EOPNOTSUPP);
	neuron_device_close(device);
}

static void test_info(void **state)
{
	struct neuron_fabric_info info = { .size = sizeof(info) };
	struct neuron_device *device = open_device(1);

	(void)state;
	mock.port_state = NEURON_PORT_UP;
	assert_int_equal(neuron_fabric_get_info(device, &info), 0);
	assert_int_equal(info.size, sizeof(info));
	assert_int_equal(info.kind, NEURON_FABRIC_NVLINK);
	assert_int_equal(info.caps, NEURON_FABRIC_MULTICAST | NEURON_FABRIC_REDUCE);
	assert_int_equal(info.chip, 1);
	assert_int_equal(info.num_chips, 2);
	assert_int_equal(info.rack, 3);
	assert_int_equal(info.uuid[15], 0x5a);
	assert_int_equal(info.partition, 7);
	assert_true(info.ports_up == 1);
	assert_int_equal(info.errors, 9);
	info.size = 4;
	assert_int_equal(neuron_fabric_get_info(device, &info), -EINVAL);
	assert_int_equal(neuron_fabric_get_info(NULL, &info), -EINVAL);
	neuron_device_close(device);
}

static void test_ports(void **state)
{
	struct neuron_port_info port = { .size = sizeof(port) };
	struct neuron_device *device = open_device(0);
	uint32_t now = 99;

	(void)state;
	mock.port_state = NEURON_PORT_TRAINING;
	mock.port_reason = TRAINIUM_PORT_REASON_PEER_OFF;
	assert_int_equal(neuron_port_get_info(device, 0, &port), 0);
	assert_int_equal(port.state, NEURON_PORT_TRAINING);
	assert_true(port.counters[NEURON_PORT_REDUCTIONS] == 111);
	assert_true(port.peer_serial == 0xabcdef);
	assert_int_equal(neuron_port_get_info(device, 1, &port), -EINVAL);
	assert_sentence("port 1 does not exist: there are 1");

	assert_int_equal(neuron_port_control(device, 0, NEURON_PORT_LANE_CAP, 4,
					     NEURON_PORT_FORCE, 0, &now), 0);
	assert_int_equal(now, NEURON_PORT_TRAINING);
	assert_int_equal(mock.ctl.op, TRAINIUM_FABRIC_LANE_CAP);
	assert_int_equal(mock.ctl.value, 4);
	assert_int_equal(mock.ctl.flags, TRAINIUM_FABRIC_FORCE);
	assert_true(mock.ctl.deadline_ns == 0);
	mock.port_error = -ETIME;
	assert_int_equal(neuron_port_control(device, 0, NEURON_PORT_ENABLE, 0, 0, 1000, NULL),
			 -ETIME);
	assert_sentence("port 0 is still in state training (the other end is off or disabled)");
	assert_true(mock.ctl.deadline_ns > 0);
	mock.port_error = -EBUSY;
	assert_int_equal(neuron_port_control(device, 0, NEURON_PORT_DISABLE, 0, 0, 0, NULL),
			 -EBUSY);
	assert_sentence("port 0 is the last way to peers that are in use");
	mock.port_error = -EACCES;
	assert_int_equal(neuron_port_control(device, 0, NEURON_PORT_DISABLE, 0, 0, 0, NULL),
			 -EPERM);
	assert_sentence("needs CAP_SYS_ADMIN");
	mock.port_error = 0;
	assert_int_equal(neuron_port_control(device, 0, 10, 0, 0, 0, NULL), -EINVAL);
	assert_sentence("an op 10 of ports does not exist");

	assert_int_equal(neuron_port_set_threshold(device, 0, NEURON_PORT_CRC_ERRORS, 50), 0);
	assert_int_equal(mock.ctl.op, TRAINIUM_FABRIC_THRESHOLD);
	assert_int_equal(mock.ctl.counter, NEURON_PORT_CRC_ERRORS);
	assert_int_equal(neuron_port_set_threshold(device, 0, 12, 50), -EINVAL);
	assert_sentence("counter 12 of a port does not exist: there are 12");
	neuron_device_close(device);
}

static void test_paths(void **state)
{
	struct neuron_path_info path = { .size = sizeof(path) };
	struct neuron_device *device = open_device(0);

	(void)state;
	mock.path = NEURON_PATH_UNTESTED;
	assert_int_equal(neuron_fabric_get_path(device, 1, 0, &path), 0);
	assert_int_equal(path.status, NEURON_PATH_UNTESTED);
	assert_int_equal(path.rate, 1800000);
	assert_int_equal(neuron_fabric_get_path(device, 1, NEURON_PATH_TEST, &path), 0);
	assert_int_equal(path.status, NEURON_PATH_OK);
	assert_int_equal(neuron_fabric_get_path(device, 0, 0, &path), -EINVAL);
	assert_sentence("chip 0 is not in the domain, or is this chip itself");
	assert_int_equal(neuron_fabric_get_path(NULL, 0, 0, &path), -EINVAL);
	neuron_device_close(device);
}

static void test_strings(void **state)
{
	(void)state;
	assert_string_equal(neuron_fabric_kind_string(NEURON_FABRIC_NEURONLINK), "NeuronLink");
	assert_string_equal(neuron_fabric_kind_string(99), "unknown");
	assert_string_equal(neuron_port_state_string(NEURON_PORT_RECOVERY), "recovery");
	assert_string_equal(neuron_port_reason_string(TRAINIUM_PORT_REASON_CABLE), "link pulled");
	assert_string_equal(neuron_path_status_string(NEURON_PATH_BAD),
			    "data does not arrive as it was sent");
	assert_string_equal(neuron_path_status_string(5), "unknown");
	assert_string_equal(neuron_reason_string(NEURON_REASON_FABRIC),
			    "no way through the fabric");
}

static void test_groups(void **state)
{
	struct neuron_device *a = open_device(0), *b = open_device(1);
	struct neuron_group *ga, *gb, *gc;
	struct neuron_buffer *buffer, *all;
	struct neuron_group_id id, wrong;
	uint32_t group_state, members;
	struct neuron_buffer_info info = { .size = sizeof(info) };

	(void)state;
	assert_int_equal(neuron_group_create(a, 3, &ga), -EINVAL);
	assert_sentence("no group of 3 members");
	assert_int_equal(neuron_group_create(a, 2, &ga), 0);
	assert_int_equal(neuron_group_create(b, 2, &gb), -ENOSPC);
	assert_sentence("the domain has no group left");
	assert_int_equal(neuron_group_get_id(ga, &id), 0);
	assert_int_equal(neuron_group_get_state(ga, &group_state, &members), 0);
	assert_int_equal(group_state, NEURON_GROUP_FORMING);
	assert_int_equal(members, 1);

	assert_int_equal(neuron_buffer_create(a, NEURON_HBM, 8192, NULL, &buffer), 0);
	assert_int_equal(neuron_group_bind(ga, 0, buffer, 0, 8192), -EAGAIN);
	assert_sentence("group 5: members are missing");
	wrong = id;
	wrong.key++;
	assert_int_equal(neuron_group_join(b, &wrong, &gb), -EACCES);
	assert_sentence("the key is wrong");
	assert_int_equal(neuron_group_join(b, &id, &gb), 0);
	assert_int_equal(neuron_group_join(b, &id, &gc), -EALREADY);
	assert_int_equal(neuron_group_get_state(gb, &group_state, NULL), 0);
	assert_int_equal(group_state, NEURON_GROUP_READY);

	assert_int_equal(neuron_group_bind(ga, 0, buffer, 4096, 8192), -EINVAL);
	assert_sentence("offset 4096 + size 8192 is past its end");
	assert_int_equal(neuron_group_bind(gb, 0, buffer, 0, 8192), -EXDEV);
	assert_sentence("is not of device accel1");
	assert_int_equal(neuron_group_bind(ga, 0, buffer, 0, 8192), 0);
	assert_int_equal(neuron_group_map(ga, 0, 8192, &all), 0);
	assert_int_equal(neuron_buffer_get_info(all, &info), 0);
	assert_int_equal(info.placement, NEURON_GROUP);
	assert_int_equal(neuron_group_unbind(ga, 0), 0);
	assert_int_equal(neuron_group_unbind(ga, 0), -ENOENT);

	neuron_buffer_destroy(all);
	neuron_buffer_destroy(buffer);
	neuron_group_destroy(gb);
	neuron_group_destroy(ga);
	neuron_group_destroy(NULL);
	assert_int_equal(neuron_group_join(NULL, &id, &gb), -EINVAL);
	assert_int_equal(neuron_group_bind(NULL, 0, NULL, 0, 0), -EINVAL);
	neuron_device_close(a);
	neuron_device_close(b);
}

static void test_combine(void **state)
{
	const uint32_t how = NEURON_OP_COMBINE(NEURON_COMBINE_SUM, NEURON_DTYPE_UINT32);
	struct neuron_device *device = open_device(0);
	struct neuron_buffer *dst, *src, *all;
	uint32_t one[4] = { 1, 2, 3, 4 }, sum[4];
	struct neuron_queue *queue;
	struct neuron_group *group;
	struct neuron_op op = {
		.type = NEURON_OP_ACCUMULATE,
		.flags = how,
		.size = sizeof(one),
	};

	(void)state;
	assert_int_equal(neuron_queue_create(device, NULL, &queue), 0);
	assert_int_equal(neuron_buffer_create(device, NEURON_HBM, 4096, NULL, &dst), 0);
	assert_int_equal(neuron_buffer_create(device, NEURON_HBM, 4096, NULL, &src), 0);
	assert_int_equal(neuron_buffer_write(dst, 0, one, sizeof(one)), 0);
	assert_int_equal(neuron_buffer_write(src, 0, one, sizeof(one)), 0);
	op.dst = dst;
	op.src = src;
	assert_int_equal(neuron_queue_run(queue, &op, 1, NEURON_WAIT_FOREVER), 0);
	assert_int_equal(neuron_buffer_read(dst, 0, sum, sizeof(sum)), 0);
	assert_int_equal(sum[3], 8);

	op.size = 8;
	assert_int_equal(neuron_queue_run(queue, &op, 1, NEURON_WAIT_FOREVER), -EINVAL);
	assert_sentence("are multiples of 16");
	op.size = 16;
	op.flags = NEURON_OP_COMBINE(3, 0);
	assert_int_equal(neuron_queue_run(queue, &op, 1, NEURON_WAIT_FOREVER), -EINVAL);
	assert_sentence("elements of type 0 cannot be combined by 3");
	op.flags = how;
	op.type = NEURON_OP_REDUCE;
	assert_int_equal(neuron_queue_run(queue, &op, 1, NEURON_WAIT_FOREVER), -EINVAL);
	assert_sentence("a reduce reads from a buffer of a group");
	op.type = NEURON_OP_COPY;
	assert_int_equal(neuron_queue_run(queue, &op, 1, NEURON_WAIT_FOREVER), -EINVAL);
	assert_sentence("unknown flags");

	assert_int_equal(neuron_group_create(device, 1, &group), 0);
	assert_int_equal(neuron_group_map(group, 0, 4096, &all), 0);
	op.flags = 0;
	op.src = all;
	assert_int_equal(neuron_queue_run(queue, &op, 1, NEURON_WAIT_FOREVER), -EINVAL);
	assert_sentence("and nothing else does");
	op.type = NEURON_OP_REDUCE;
	op.flags = how | NEURON_OP_BARRIER;
	assert_int_equal(neuron_queue_run(queue, &op, 1, NEURON_WAIT_FOREVER), 0);
	neuron_buffer_destroy(all);
	neuron_group_destroy(group);
	neuron_buffer_destroy(src);
	neuron_buffer_destroy(dst);
	neuron_queue_destroy(queue);
	neuron_device_close(device);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_no_fabric, mock_setup, mock_teardown),
		cmocka_unit_test_setup_teardown(test_info, mock_setup, mock_teardown),
		cmocka_unit_test_setup_teardown(test_ports, mock_setup, mock_teardown),
		cmocka_unit_test_setup_teardown(test_paths, mock_setup, mock_teardown),
		cmocka_unit_test_setup_teardown(test_strings, mock_setup, mock_teardown),
		cmocka_unit_test_setup_teardown(test_groups, mock_setup, mock_teardown),
		cmocka_unit_test_setup_teardown(test_combine, mock_setup, mock_teardown),
	};

	return cmocka_run_group_tests_name("fabric", tests, NULL, NULL);
}

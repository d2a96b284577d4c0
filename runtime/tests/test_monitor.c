// SPDX-License-Identifier: MIT
/* Holders, cores, events */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "mock.h"

static void test_holders(void **state)
{
	struct neuron_holder h = { .size = sizeof(h) };
	struct neuron_device *device;

	(void)state;
	assert_int_equal(neuron_device_open(0, &device), 0);
	assert_int_equal(neuron_device_next_holder(device, 0, &h), 0);
	assert_int_equal(h.id, 3);
	assert_int_equal(h.self, 1);
	assert_int_equal(h.pid, 42);
	assert_int_equal(h.others, 9);
	assert_true(h.hbm_bytes == 1ull << 33);
	/* Not terminated by the driver */
	assert_string_equal(h.command, "xxxxxxxxxxxxxxxx");
	assert_int_equal(neuron_device_next_holder(device, h.id + 1, &h), 0);
	assert_int_equal(h.id, 7);
	assert_int_equal(h.self, 0);
	assert_int_equal(neuron_device_next_holder(device, h.id + 1, &h), -ENOENT);
	assert_sentence("no open file from number 8 on");
	h.size = 4;
	assert_int_equal(neuron_device_next_holder(device, 0, &h), -EINVAL);
	h.size = sizeof(h);
	mock.fail_request = DRM_IOCTL_TRAINIUM_QUERY;
	mock.fail_error = -EINVAL;
	mock.fail_count = 1;
	assert_int_equal(neuron_device_next_holder(device, 0, &h), -EOPNOTSUPP);
	assert_sentence("too old");
	neuron_device_close(device);
}

static void test_cores(void **state)
{
	struct neuron_core_info info = { .size = sizeof(info) };
	struct neuron_device *device;

	(void)state;
	assert_int_equal(neuron_device_open(0, &device), 0);
	assert_int_equal(neuron_device_get_core(device, 7, &info), 0);
	assert_int_equal(info.idle[3], 8);
	assert_int_equal(neuron_device_get_core(device, 8, &info), -EINVAL);
	assert_sentence("core 8 does not exist");
	neuron_device_close(device);
}

static void post(uint32_t type, uint64_t seqno)
{
	struct drm_trainium_event record = {
		.size = sizeof(record), .type = type, .seqno = seqno, .lost = 5,
		.data = { 1, 2, 3, 4 },
	};

	assert_int_equal(write(mock.events_fd, &record, sizeof(record)), sizeof(record));
}

static void test_events(void **state)
{
	struct neuron_event event = { .size = sizeof(event) };
	struct neuron_events *events;
	struct neuron_device *device;

	(void)state;
	assert_int_equal(neuron_device_open(0, &device), 0);
	assert_int_equal(neuron_events_open(device, NEURON_EVENT_ALL, &events), -EOPNOTSUPP);
	assert_sentence("the driver has no events");
	mock.features |= TRAINIUM_FEATURE_EVENTS;
	mock.event_types = NEURON_EVENT_RESET | NEURON_EVENT_ECC;
	assert_int_equal(neuron_events_open(device, NEURON_EVENT_HEALTH, &events), -EINVAL);
	assert_sentence("has events 0x5, not 0x8");
	assert_int_equal(neuron_events_open(device, NEURON_EVENT_ALL, NULL), -EINVAL);
	assert_int_equal(neuron_events_open(device, NEURON_EVENT_ALL, &events), 0);
	neuron_device_close(device);

	assert_int_equal(neuron_events_read(events, &event, 0), -ETIME);
	assert_int_equal(neuron_events_read(events, &event, 1000000), -ETIME);
	post(TRAINIUM_EVENT_ECC, 17);
	/* Too small a structure takes no record. */
	event.size = 8;
	assert_int_equal(neuron_events_read(events, &event, 0), -EINVAL);
	event.size = sizeof(event);
	assert_int_equal(neuron_events_read(events, &event, NEURON_WAIT_FOREVER), 0);
	assert_true(event.type == NEURON_EVENT_ECC);
	assert_int_equal(event.seqno, 17);
	assert_int_equal(event.lost, 5);
	assert_int_equal(event.data[3], 4);
	assert_int_equal(event.size, sizeof(event));
	assert_true(neuron_events_get_fd(events) >= 0);
	/* The other end goes, as it does with a device. */
	close(mock.events_fd);
	assert_int_equal(neuron_events_read(events, &event, NEURON_WAIT_FOREVER), -ENODEV);
	assert_sentence("the device is gone");
	neuron_events_close(events);
	neuron_events_close(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_holders, mock_setup, mock_teardown),
		cmocka_unit_test_setup_teardown(test_cores, mock_setup, mock_teardown),
		cmocka_unit_test_setup_teardown(test_events, mock_setup, mock_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

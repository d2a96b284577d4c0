// SPDX-License-Identifier: MIT
/*
 * Buffers: arguments, mapping, sharing, and the ways that bytes take.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "mock.h"

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_device, close_device)

static struct neuron_device *device;

static int open_device(void **state)
{
	mock_setup(state);
	return neuron_device_open(0, &device);
}

static int close_device(void **state)
{
	neuron_device_close(device);
	return mock_teardown(state);
}

static struct neuron_buffer *create(enum neuron_placement placement, uint64_t size)
{
	struct neuron_buffer *buffer = NULL;

	assert_int_equal(neuron_buffer_create(device, placement, size, NULL, &buffer), 0);
	return buffer;
}

static unsigned char *pattern(size_t size)
{
	unsigned char *data = malloc(size);
	size_t i;

	for (i = 0; i < size; i++)
		data[i] = (unsigned char)(i * 7 + i / 251);
	return data;
}

static void test_bad_arguments(void **state)
{
	struct neuron_buffer_options o = { .size = sizeof(o), .stack = 4 };
	struct neuron_buffer *buffer = NULL;

	(void)state;
	assert_int_equal(neuron_buffer_create(NULL, NEURON_HBM, 1, NULL, &buffer), -EINVAL);
	assert_int_equal(neuron_buffer_create(device, NEURON_HBM, 1, NULL, NULL), -EINVAL);
	assert_int_equal(neuron_buffer_create(device, NEURON_HBM, 0, NULL, &buffer), -EINVAL);
	assert_sentence("accel0: a buffer of 0 bytes");
	assert_int_equal(neuron_buffer_create(device, NEURON_USERPTR, 1, NULL, &buffer), -EINVAL);
	assert_int_equal(neuron_buffer_create(device, NEURON_HBM, 1, &o, &buffer), -EINVAL);
	assert_sentence("HBM stack 4 does not exist: there are 4");
	o.stack = 0;
	o.alignment = 3;
	assert_int_equal(neuron_buffer_create(device, NEURON_HBM, 1, &o, &buffer), -EINVAL);
	assert_sentence("alignment 3 is not a power of two");
	o.alignment = 1;
	assert_int_equal(neuron_buffer_create(device, NEURON_HBM, 1, &o, &buffer), 0);
	neuron_buffer_destroy(buffer);
	buffer = NULL;
	o.alignment = 4096;
	assert_int_equal(neuron_buffer_create(device, NEURON_HOST, 1, &o, &buffer), -EINVAL);
	o.alignment = 0;
	o.flags = 1u << 31;
	assert_int_equal(neuron_buffer_create(device, NEURON_HBM, 1, &o, &buffer), -EINVAL);
	o.flags = 0;
	o.reserved = 1;
	assert_int_equal(neuron_buffer_create(device, NEURON_HBM, 1, &o, &buffer), -EINVAL);
	o.reserved = 0;
	o.size = 8;
	assert_int_equal(neuron_buffer_create(device, NEURON_HBM, 1, &o, &buffer), -EINVAL);
	assert_null(buffer);
	assert_int_equal(neuron_buffer_create(device, NEURON_HBM, mock.limits.max_bo_size + 1, NULL,
					      &buffer), -ENOSPC);
	assert_sentence("that a stack of HBM can hold");
	neuron_buffer_destroy(NULL);
}

static void test_options_of_a_newer_program(void **state)
{
	struct {
		struct neuron_buffer_options options;
		uint64_t more;
	} newer = { .options = { .size = sizeof(newer), .stack = 1 } };
	struct neuron_buffer *buffer;

	(void)state;
	assert_int_equal(neuron_buffer_create(device, NEURON_HBM, 1, &newer.options, &buffer), 0);
	neuron_buffer_destroy(buffer);
	newer.more = 1;
	assert_int_equal(neuron_buffer_create(device, NEURON_HBM, 1, &newer.options, &buffer),
			 -EINVAL);
	assert_sentence("which libneuron");
}

static void test_out_of_memory(void **state)
{
	struct neuron_buffer_options o = { .size = sizeof(o), .stack = 1 };
	struct neuron_buffer *a, *b;

	(void)state;
	assert_int_equal(neuron_buffer_create(device, NEURON_HBM, 48 << 20, &o, &a), 0);
	assert_int_equal(neuron_buffer_create(device, NEURON_HBM, 48 << 20, &o, &b), -ENOSPC);
	assert_sentence("no 50331648 contiguous bytes in HBM stack 1: 16777216 of 67108864 bytes are free, the largest range is 16777216");
	assert_int_equal(neuron_buffer_create(device, NEURON_HBM, 65 << 20, NULL, &b), -ENOSPC);
	assert_sentence("larger than the 67108864 that a stack of HBM can hold");
	neuron_buffer_destroy(a);

	mock.fail_request = DRM_IOCTL_TRAINIUM_BO_CREATE;
	mock.fail_count = 1;
	mock.fail_error = -ENOMEM;
	assert_int_equal(neuron_buffer_create(device, NEURON_HOST, 4096, NULL, &b), -ENOMEM);
	assert_sentence("ENOMEM");
	mock.fail_count = 1;
	mock.fail_error = -EDQUOT;
	assert_int_equal(neuron_buffer_create(device, NEURON_HBM, 4096, NULL, &b), -EDQUOT);
	assert_sentence("an open device may have 64 buffers, 67108864 bytes of HBM, 4294967296");
}

static void test_userptr(void **state)
{
	static unsigned char memory[10000];
	struct neuron_buffer *buffer = NULL, *hbm = create(NEURON_HBM, 16384);
	struct neuron_buffer_info info = { .size = sizeof(info) };
	void *address;

	(void)state;
	assert_int_equal(neuron_buffer_create_userptr(device, memory + 1, 9999, 0, &buffer), 0);
	assert_int_equal(neuron_buffer_get_size(buffer), 9999);
	assert_int_equal(neuron_buffer_map(buffer, &address), 0);
	assert_ptr_equal(address, memory + 1);
	assert_int_equal(neuron_buffer_get_info(buffer, &info), 0);
	assert_int_equal(info.placement, NEURON_USERPTR);
	assert_int_equal(info.mappable, 1);
	assert_int_equal(neuron_buffer_unmap(buffer), 0);
	assert_int_equal(neuron_buffer_fill(hbm, 0, 16384, 0xab, 1), 0);
	assert_int_equal(neuron_buffer_copy(buffer, 0, hbm, 0, 9999), 0);
	assert_int_equal(memory[0], 0);
	assert_int_equal(memory[1], 0xab);
	assert_int_equal(memory[9999], 0xab);
	assert_int_equal(neuron_buffer_write(buffer, 9998, "x", 1), 0);
	assert_int_equal(memory[9999], 'x');
	neuron_buffer_destroy(buffer);
	neuron_buffer_destroy(hbm);
}

static void test_userptr_errors(void **state)
{
	static unsigned char memory[10000];
	struct neuron_buffer *buffer = NULL, *hbm = create(NEURON_HBM, 4096);

	(void)state;
	assert_int_equal(neuron_buffer_create_userptr(device, NULL, 1, 0, &buffer), -EINVAL);
	assert_int_equal(neuron_buffer_create_userptr(device, memory, 0, 0, &buffer), -EINVAL);
	assert_int_equal(neuron_buffer_create_userptr(device, memory, UINT64_MAX, 0, &buffer),
			 -EINVAL);
	assert_int_equal(neuron_buffer_create_userptr(device, memory, 1, 1, &buffer), -EINVAL);
	mock.userptr_error = -ENOMEM;
	assert_int_equal(neuron_buffer_create_userptr(device, memory, 100, 0, &buffer), -ENOMEM);
	assert_sentence("RLIMIT_MEMLOCK");
	mock.userptr_error = -EFAULT;
	assert_int_equal(neuron_buffer_create_userptr(device, memory, 100, 0, &buffer), -EFAULT);
	assert_sentence("not all of it is writable memory");
	mock.userptr_error = 0;

	assert_int_equal(neuron_buffer_create_userptr(device, memory, 100, NEURON_BUFFER_READ_ONLY,
						      &buffer), 0);
	assert_int_equal(neuron_buffer_write(buffer, 0, "x", 1), -EINVAL);
	assert_sentence("is read-only");
	assert_int_equal(neuron_buffer_copy(buffer, 0, hbm, 0, 1), -EINVAL);
	assert_int_equal(neuron_buffer_copy(hbm, 0, buffer, 0, 1), 0);
	neuron_buffer_destroy(buffer);
	neuron_buffer_destroy(hbm);
}

static void test_userptr_not_offered(void **state)
{
	struct neuron_device *other;
	struct neuron_buffer *buffer;
	char memory[16];

	(void)state;
	mock.features &= ~TRAINIUM_FEATURE_USERPTR;
	assert_int_equal(neuron_device_open(1, &other), 0);
	assert_int_equal(neuron_buffer_create_userptr(other, memory, 16, 0, &buffer), -EOPNOTSUPP);
	neuron_device_close(other);
}

static void test_map(void **state)
{
	struct neuron_buffer *buffer = create(NEURON_HBM, 100);
	void *a, *b;

	(void)state;
	assert_int_equal(neuron_buffer_unmap(buffer), -EINVAL);
	assert_sentence("unmap without map");
	assert_int_equal(neuron_buffer_map(buffer, NULL), -EINVAL);
	assert_int_equal(neuron_buffer_map(buffer, &a), 0);
	assert_int_equal(neuron_buffer_map(buffer, &b), 0);
	assert_ptr_equal(a, b);
	assert_int_equal(mock.maps, 1);
	memcpy(a, "hello", 6);
	assert_int_equal(neuron_buffer_unmap(buffer), 0);
	assert_int_equal(mock.unmaps, 0);
	assert_int_equal(neuron_buffer_unmap(buffer), 0);
	assert_int_equal(mock.unmaps, 1);
	assert_int_equal(neuron_buffer_map(buffer, &a), 0);
	assert_string_equal(a, "hello");
	neuron_buffer_destroy(buffer);
	assert_int_equal(mock.unmaps, 2);
}

static void test_map_not_possible(void **state)
{
	struct neuron_buffer *buffer = create(NEURON_HBM, 100);
	struct neuron_buffer_info info = { .size = sizeof(info) };
	void *a = NULL;

	(void)state;
	mock.features &= ~TRAINIUM_FEATURE_HBM_MMAP;
	assert_int_equal(neuron_buffer_map(buffer, &a), -EOPNOTSUPP);
	assert_sentence("buffer 1 (100 bytes): cannot be mapped");
	assert_null(a);
	assert_int_equal(neuron_buffer_get_info(buffer, &info), 0);
	assert_int_equal(info.mappable, 0);
	assert_int_equal(info.bytes, 100);
	neuron_buffer_destroy(buffer);
}

static void check_transfer(uint64_t size, uint64_t offset)
{
	struct neuron_buffer *buffer = create(NEURON_HBM, size + offset + 100);
	unsigned char *data = pattern(size), *back = calloc(1, size);
	unsigned char edge[2];

	assert_int_equal(neuron_buffer_write(buffer, offset, data, size), 0);
	assert_int_equal(neuron_buffer_read(buffer, offset, back, size), 0);
	assert_memory_equal(data, back, size);
	if (offset) {
		assert_int_equal(neuron_buffer_read(buffer, offset - 1, edge, 1), 0);
		assert_int_equal(edge[0], 0);
	}
	assert_int_equal(neuron_buffer_read(buffer, offset + size, edge, 1), 0);
	assert_int_equal(edge[0], 0);
	neuron_buffer_destroy(buffer);
	free(data);
	free(back);
}

static void test_small_transfers_are_staged(void **state)
{
	(void)state;
	check_transfer(1, 0);
	check_transfer(4096, 3);
	check_transfer(65536, 1);
	/* Reads and writes have queues of their own. */
	assert_int_not_equal(mock.job_log[0].queue, mock.job_log[1].queue);
	assert_int_equal(mock.creates[TRAINIUM_BO_HOST], 1);
	assert_int_equal(mock.creates[TRAINIUM_BO_USERPTR], 0);
}

static void test_large_transfers_are_pinned(void **state)
{
	(void)state;
	check_transfer(65537, 0);
	check_transfer(3000001, 7);
	/* Only the single bytes around went through the host buffer. */
	assert_int_equal(mock.creates[TRAINIUM_BO_USERPTR], 4);
	assert_int_equal(mock.creates[TRAINIUM_BO_HOST], 1);
}

static void test_pin_fails(void **state)
{
	static const int errors[] = { -ENOMEM, -EFAULT, -EOPNOTSUPP, -EPERM, -EDQUOT, -EINVAL };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		mock.userptr_error = errors[i];
		check_transfer(3000001, 7);
	}
	assert_int_equal(mock.creates[TRAINIUM_BO_USERPTR], 0);
	assert_int_equal(mock.creates[TRAINIUM_BO_HOST], 1);
}

static void test_pin_not_offered(void **state)
{
	struct neuron_device *first = device;

	(void)state;
	mock.features &= ~TRAINIUM_FEATURE_USERPTR;
	assert_int_equal(neuron_device_open(1, &device), 0);
	check_transfer(1000000, 0);
	assert_int_equal(mock.creates[TRAINIUM_BO_USERPTR], 0);
	neuron_device_close(device);
	device = first;
}

static void test_write_from_read_only_memory(void **state)
{
	struct neuron_buffer *buffer = create(NEURON_HBM, 1 << 20);
	void *page = mmap(NULL, 1 << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)state;
	assert_int_equal(neuron_buffer_write(buffer, 0, page, 1 << 20), 0);
	assert_int_equal(mock.userptr_flags, TRAINIUM_BO_F_READ_ONLY);
	munmap(page, 1 << 20);
	neuron_buffer_destroy(buffer);
}

static void test_device_gone_while_pinning(void **state)
{
	struct neuron_buffer *buffer = create(NEURON_HBM, 1 << 20);
	unsigned char *data = pattern(1 << 20);

	(void)state;
	mock.userptr_error = -ENODEV;
	assert_int_equal(neuron_buffer_write(buffer, 0, data, 1 << 20), -ENODEV);
	assert_sentence("accel0: the device is gone");
	assert_int_equal(mock.creates[TRAINIUM_BO_HOST], 0);
	neuron_buffer_destroy(buffer);
	free(data);
}

static void test_host_buffers_need_no_dma(void **state)
{
	struct neuron_buffer *buffer = create(NEURON_HOST, 1 << 20);
	unsigned char *data = pattern(1 << 20), *back = malloc(1 << 20);
	void *address;

	(void)state;
	assert_int_equal(neuron_buffer_write(buffer, 0, data, 1 << 20), 0);
	/* The library goes on to use the mapping that the program had, too. */
	assert_int_equal(neuron_buffer_map(buffer, &address), 0);
	assert_int_equal(neuron_buffer_unmap(buffer), 0);
	assert_int_equal(neuron_buffer_read(buffer, 0, back, 1 << 20), 0);
	assert_memory_equal(data, back, 1 << 20);
	assert_int_equal(mock.jobs, 0);
	assert_int_equal(mock.maps, 1);
	neuron_buffer_destroy(buffer);
	free(data);
	free(back);
}

static void test_transfer_ranges(void **state)
{
	struct neuron_buffer *buffer = create(NEURON_HBM, 1048576);
	unsigned char data[16];

	(void)state;
	assert_int_equal(neuron_buffer_write(buffer, 1048570, data, 16), -EINVAL);
	assert_string_equal(neuron_last_error(),
			    "accel0: buffer 1 (1048576 bytes): offset 1048570 + size 16 is past its end");
	assert_int_equal(neuron_buffer_read(buffer, UINT64_MAX, data, 16), -EINVAL);
	assert_int_equal(neuron_buffer_read(buffer, 16, data, UINT64_MAX - 8), -EINVAL);
	assert_int_equal(neuron_buffer_read(buffer, 1048577, data, 0), -EINVAL);
	assert_int_equal(neuron_buffer_read(buffer, 1048576, data, 0), 0);
	assert_int_equal(neuron_buffer_write(buffer, 0, NULL, 0), 0);
	assert_int_equal(neuron_buffer_write(buffer, 0, NULL, 1), -EINVAL);
	assert_int_equal(neuron_buffer_write(NULL, 0, data, 1), -EINVAL);
	assert_int_equal(neuron_buffer_fill(buffer, 1048575, 2, 0, 1), -EINVAL);
	assert_int_equal(neuron_buffer_fill(buffer, 1048576, 0, 0, 1), 0);
	assert_int_equal(neuron_buffer_fill(NULL, 0, 1, 0, 1), -EINVAL);
	assert_int_equal(mock.jobs, 0);
	neuron_buffer_destroy(buffer);
}

static void test_fill(void **state)
{
	struct neuron_buffer *buffer = create(NEURON_HBM, 65536);
	uint32_t back[4] = { 0 };

	(void)state;
	assert_int_equal(neuron_buffer_fill(buffer, 4, 8, 0xdeadbeef, 4), 0);
	assert_int_equal(neuron_buffer_read(buffer, 0, back, 16), 0);
	assert_int_equal(back[0], 0);
	assert_int_equal(back[1], 0xdeadbeef);
	assert_int_equal(back[2], 0xdeadbeef);
	assert_int_equal(back[3], 0);
	assert_int_equal(neuron_buffer_fill(buffer, 2, 8, 1, 4), -EINVAL);
	assert_sentence("no multiples of the pattern's 4 bytes");
	assert_int_equal(neuron_buffer_fill(buffer, 0, 8, 1, 3), -EINVAL);
	assert_sentence("a pattern of 3 bytes");
	assert_int_equal(neuron_buffer_fill(buffer, 0, 8, 0x100, 1), -EINVAL);
	assert_sentence("pattern 0x100 has more than 1 bytes");
	neuron_buffer_destroy(buffer);
}

static void test_copy(void **state)
{
	struct neuron_buffer *a = create(NEURON_HBM, 8192), *b = create(NEURON_HOST, 8192);
	unsigned char data[8192];

	(void)state;
	assert_int_equal(neuron_buffer_fill(a, 0, 8192, 0x11, 1), 0);
	assert_int_equal(neuron_buffer_copy(b, 1, a, 3, 4096), 0);
	assert_int_equal(neuron_buffer_read(b, 0, data, 8192), 0);
	assert_int_equal(data[0], 0);
	assert_int_equal(data[1], 0x11);
	assert_int_equal(data[4096], 0x11);
	assert_int_equal(data[4097], 0);
	assert_int_equal(neuron_buffer_copy(a, 0, a, 4096, 4096), 0);
	assert_int_equal(neuron_buffer_copy(a, 0, a, 4095, 4096), -EINVAL);
	assert_sentence("overlaps itself");
	assert_int_equal(neuron_buffer_copy(a, 0, b, 8000, 4096), -EINVAL);
	assert_int_equal(neuron_buffer_copy(a, 0, b, 8193, 0), -EINVAL);
	assert_int_equal(neuron_buffer_copy(a, 0, b, 8192, 0), 0);
	assert_int_equal(neuron_buffer_copy(NULL, 0, b, 0, 1), -EINVAL);
	neuron_buffer_destroy(a);
	neuron_buffer_destroy(b);
}

static void test_share(void **state)
{
	struct neuron_buffer *buffer = create(NEURON_HOST, 100), *again, *there;
	struct neuron_device *other;
	char text[6];
	int fd = -1;

	(void)state;
	assert_int_equal(neuron_device_open(1, &other), 0);
	assert_int_equal(neuron_buffer_export(buffer, NULL), -EINVAL);
	assert_int_equal(neuron_buffer_export(buffer, &fd), 0);
	/* The same file gets the same handle again; each of both has to be destroyed. */
	assert_int_equal(neuron_buffer_import(device, fd, &again), 0);
	assert_int_equal(neuron_buffer_import(other, fd, &there), 0);
	close(fd);
	assert_int_equal(neuron_buffer_get_size(there), 4096);
	assert_int_equal(neuron_buffer_write(buffer, 0, "hello", 6), 0);
	neuron_buffer_destroy(buffer);
	assert_int_equal(neuron_buffer_read(again, 0, text, 6), 0);
	assert_string_equal(text, "hello");
	neuron_buffer_destroy(again);
	memset(text, 0, sizeof(text));
	assert_int_equal(neuron_buffer_read(there, 0, text, 6), 0);
	assert_string_equal(text, "hello");
	neuron_buffer_destroy(there);
	neuron_device_close(other);
}

static void test_import_errors(void **state)
{
	struct neuron_buffer *buffer = create(NEURON_HBM, 100), *there = NULL;
	struct neuron_device *other;
	int fd, pipes[2];

	(void)state;
	assert_int_equal(neuron_device_open(1, &other), 0);
	assert_int_equal(neuron_buffer_import(other, -1, &there), -EINVAL);
	assert_int_equal(pipe(pipes), 0);
	assert_int_equal(neuron_buffer_import(other, pipes[0], &there), -EINVAL);
	assert_sentence("is no dma-buf that can be imported");
	close(pipes[0]);
	close(pipes[1]);
	assert_int_equal(neuron_buffer_export(buffer, &fd), 0);
	mock.no_import = -EOPNOTSUPP;
	assert_int_equal(neuron_buffer_import(other, fd, &there), -EOPNOTSUPP);
	assert_sentence("cannot be imported");
	mock.no_import = -EXDEV;
	assert_int_equal(neuron_buffer_import(other, fd, &there), -EXDEV);
	assert_sentence("memory of a chip that the fabric has no way to");
	assert_int_equal(neuron_buffer_import(NULL, fd, &there), -EINVAL);
	assert_int_equal(neuron_buffer_import(other, fd, NULL), -EINVAL);
	assert_null(there);
	close(fd);
	neuron_buffer_destroy(buffer);
	neuron_device_close(other);
}

static void test_buffers_of_two_devices(void **state)
{
	struct neuron_buffer *a = create(NEURON_HBM, 100), *b;
	struct neuron_device *other;

	(void)state;
	assert_int_equal(neuron_device_open(1, &other), 0);
	assert_int_equal(neuron_buffer_create(other, NEURON_HBM, 100, NULL, &b), 0);
	assert_int_equal(neuron_buffer_copy(a, 0, b, 0, 100), -EXDEV);
	assert_sentence("accel1: buffer 1 (100 bytes): is not of device accel0");
	assert_int_equal(neuron_buffer_copy(b, 0, a, 0, 100), -EXDEV);
	neuron_buffer_destroy(a);
	neuron_buffer_destroy(b);
	neuron_device_close(other);
}

static void test_device_stays_for_its_buffers(void **state)
{
	struct neuron_device *other;
	struct neuron_buffer *buffer;
	char text[6];

	(void)state;
	assert_int_equal(neuron_device_open(1, &other), 0);
	assert_int_equal(neuron_buffer_create(other, NEURON_HBM, 100, NULL, &buffer), 0);
	neuron_device_close(other);
	assert_int_equal(neuron_buffer_write(buffer, 0, "hello", 6), 0);
	assert_int_equal(neuron_buffer_read(buffer, 0, text, 6), 0);
	assert_string_equal(text, "hello");
	neuron_buffer_destroy(buffer);
}

static void test_content_generation(void **state)
{
	struct neuron_buffer_info info = { .size = sizeof(info) };
	struct neuron_device_info device_info = { .size = sizeof(device_info) };
	struct neuron_buffer *buffer = create(NEURON_HBM, 100);

	(void)state;
	assert_int_equal(neuron_device_reset(device), 0);
	assert_int_equal(neuron_buffer_get_info(buffer, &info), 0);
	assert_int_equal(neuron_device_get_info(device, &device_info), 0);
	assert_true(info.content_generation < device_info.reset_count);
	neuron_buffer_destroy(buffer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_bad_arguments),
		TEST(test_options_of_a_newer_program),
		TEST(test_out_of_memory),
		TEST(test_userptr),
		TEST(test_userptr_errors),
		TEST(test_userptr_not_offered),
		TEST(test_map),
		TEST(test_map_not_possible),
		TEST(test_small_transfers_are_staged),
		TEST(test_large_transfers_are_pinned),
		TEST(test_pin_fails),
		TEST(test_pin_not_offered),
		TEST(test_write_from_read_only_memory),
		TEST(test_device_gone_while_pinning),
		TEST(test_host_buffers_need_no_dma),
		TEST(test_transfer_ranges),
		TEST(test_fill),
		TEST(test_copy),
		TEST(test_share),
		TEST(test_import_errors),
		TEST(test_buffers_of_two_devices),
		TEST(test_device_stays_for_its_buffers),
		TEST(test_content_generation),
	};

	return cmocka_run_group_tests_name("buffer", tests, NULL, NULL);
}

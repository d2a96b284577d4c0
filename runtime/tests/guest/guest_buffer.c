// SPDX-License-Identifier: MIT
/*
 * Devices and buffers on the real driver.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest.h"

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_device, close_device)
#define MIB (1u << 20)

static struct neuron_device *device;
static uint64_t free_before;

static int open_device(void **state)
{
	(void)state;
	ok(neuron_device_open(0, &device));
	free_before = free_bytes(device);
	return 0;
}

/* Every test leaves the memory as it was. */
static int close_device(void **state)
{
	(void)state;
	assert_all_free(device, free_before);
	neuron_device_close(device);
	return 0;
}

static void test_every_device_answers(void **state)
{
	struct neuron_device_entry entry[64];
	int count = neuron_enumerate(entry, sizeof(entry[0]), 64), i;

	(void)state;
	assert_true(count > 0);
	for (i = 0; i < count; i++) {
		struct neuron_telemetry telemetry = { .size = sizeof(telemetry) };
		struct neuron_memory_info memory = { .size = sizeof(memory) };
		struct neuron_engine_info engine = { .size = sizeof(engine) };
		struct neuron_device_info info = { .size = sizeof(info) };
		struct neuron_limits limits = { .size = sizeof(limits) };
		struct neuron_device *by_name;
		uint64_t total = 0;
		uint32_t s;

		ok(neuron_device_open_name(entry[i].pci_address, &by_name));
		ok(neuron_device_get_info(by_name, &info));
		assert_string_equal(info.pci_address, entry[i].pci_address);
		assert_string_equal(info.node, entry[i].node);
		assert_string_equal(info.driver, "trainium");
		assert_true(info.generation >= 1 && info.generation <= 4);
		for (s = 0; s < info.num_stacks; s++) {
			ok(neuron_device_get_memory(by_name, s, &memory));
			total += memory.total;
			assert_true(memory.free <= memory.total);
			assert_true(memory.largest_free <= memory.free);
		}
		assert_int_equal(total, info.hbm_size);
		ok(neuron_device_get_engine(by_name, info.num_engines - 1, &engine));
		assert_int_equal(neuron_device_get_engine(by_name, info.num_engines, &engine),
				 -EINVAL);
		ok(neuron_device_get_telemetry(by_name, &telemetry));
		assert_int_equal(telemetry.health, 0);
		ok(neuron_device_get_limits(by_name, &limits));
		assert_true(limits.max_ops && limits.max_queues && limits.max_job_bytes);
		neuron_device_close(by_name);
	}
}

static void test_new_buffers_are_zero(void **state)
{
	static unsigned char data[3 * MIB];
	struct neuron_buffer *buffer;
	size_t i;
	int n;

	(void)state;
	for (n = 0; n < 4; n++) {
		buffer = make_in(device, 0, sizeof(data));
		ok(neuron_buffer_read(buffer, 0, data, sizeof(data)));
		for (i = 0; i < sizeof(data); i++)
			assert_int_equal(data[i], 0);
		ok(neuron_buffer_fill(buffer, 0, sizeof(data), 0x5a, 1));
		neuron_buffer_destroy(buffer);
	}
}

static void test_sizes_and_offsets(void **state)
{
	static const uint64_t sizes[] = { 1, 63, 4095, 4096, 65535, 65536, 65537, 131072,
					  MIB + 3, 16 * MIB };
	static const uint64_t offsets[] = { 0, 1, 4093 };
	struct neuron_buffer *buffer = make(device, NEURON_HBM, 16 * MIB + 8192);
	unsigned char *data = malloc(16 * MIB + 16), *back = malloc(16 * MIB + 16);
	size_t i, j;

	(void)state;
	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		for (j = 0; j < sizeof(offsets) / sizeof(offsets[0]); j++) {
			/* User memory that is not aligned either. */
			unsigned char *from = data + j, *to = back + 2 * j;

			scramble(from, sizes[i], (uint32_t)(i * 10 + j));
			memset(back, 0, 16 * MIB + 16);
			ok(neuron_buffer_fill(buffer, 0, 16 * MIB + 8192, 0xee, 1));
			ok(neuron_buffer_write(buffer, offsets[j], from, sizes[i]));
			ok(neuron_buffer_read(buffer, offsets[j], to, sizes[i]));
			assert_memory_equal(from, to, sizes[i]);
			ok(neuron_buffer_read(buffer, offsets[j] + sizes[i], to, 1));
			assert_int_equal(to[0], 0xee);
			if (!offsets[j])
				continue;
			ok(neuron_buffer_read(buffer, offsets[j] - 1, to, 1));
			assert_int_equal(to[0], 0xee);
		}
	free(data);
	free(back);
	neuron_buffer_destroy(buffer);
}

static void test_memory_of_all_kinds(void **state)
{
	struct neuron_buffer *buffer = make(device, NEURON_HBM, MIB);
	struct neuron_buffer *other = make(device, NEURON_HBM, MIB);
	unsigned char *data = malloc(MIB);
	void *file, *readable, *hbm;
	int fd;

	(void)state;
	scramble(data, MIB, 1);
	/* A file in memory, shared. */
	fd = memfd_create("file", MFD_CLOEXEC);
	assert_int_equal(ftruncate(fd, MIB), 0);
	file = mmap(NULL, MIB, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_true(file != MAP_FAILED);
	ok(neuron_buffer_write(buffer, 0, data, MIB));
	ok(neuron_buffer_read(buffer, 0, file, MIB));
	assert_memory_equal(data, file, MIB);

	/* A page cache that may only be read. */
	readable = mmap(NULL, MIB, PROT_READ, MAP_PRIVATE, fd, 0);
	assert_true(readable != MAP_FAILED);
	ok(neuron_buffer_fill(buffer, 0, MIB, 0, 1));
	ok(neuron_buffer_write(buffer, 0, readable, MIB));
	memset(file, 0, MIB);
	ok(neuron_buffer_read(buffer, 0, file, MIB));
	assert_memory_equal(data, file, MIB);

	/* HBM itself, mapped: nothing that could be pinned. */
	ok(neuron_buffer_map(other, &hbm));
	ok(neuron_buffer_read(buffer, 0, hbm, MIB));
	assert_memory_equal(data, hbm, MIB);
	ok(neuron_buffer_fill(buffer, 0, MIB, 0, 1));
	ok(neuron_buffer_write(buffer, 0, hbm, MIB));
	memset(file, 0, MIB);
	ok(neuron_buffer_read(buffer, 0, file, MIB));
	assert_memory_equal(data, file, MIB);

	munmap(file, MIB);
	munmap(readable, MIB);
	close(fd);
	free(data);
	neuron_buffer_destroy(buffer);
	neuron_buffer_destroy(other);
}

/* As an ordinary user with little memory to lock: 0 all is well. */
static int without_rights(const char *node)
{
	struct rlimit limit = { .rlim_cur = 64 << 10, .rlim_max = 64 << 10 };
	unsigned char *data = malloc(MIB), *back = calloc(1, MIB);
	struct neuron_buffer *buffer, *user;
	struct neuron_device *other;
	int fd = open(node, O_RDWR | O_CLOEXEC);

	if (setrlimit(RLIMIT_MEMLOCK, &limit) || setgid(65534) || setuid(65534))
		return 1;
	if (neuron_device_open_fd(fd, &other) ||
	    neuron_buffer_create(other, NEURON_HBM, MIB, NULL, &buffer))
		return 2;
	if (neuron_buffer_create_userptr(other, data, MIB, 0, &user) != -ENOMEM)
		return 3;
	if (!strstr(neuron_last_error(), "RLIMIT_MEMLOCK (65536 bytes)"))
		return 4;
	scramble(data, MIB, 5);
	if (neuron_buffer_write(buffer, 0, data, MIB) || neuron_buffer_read(buffer, 0, back, MIB))
		return 5;
	if (memcmp(data, back, MIB))
		return 6;
	if (neuron_device_reset(other) != -EPERM)
		return 7;
	return 0;
}

static void test_ordinary_user_with_memlock_limit(void **state)
{
	struct neuron_device_info info = { .size = sizeof(info) };
	int status;
	pid_t pid;

	(void)state;
	ok(neuron_device_get_info(device, &info));
	pid = fork();
	if (!pid)
		_exit(without_rights(info.node));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void test_map_shows_what_dma_wrote(void **state)
{
	struct neuron_buffer *buffer = make(device, NEURON_HBM, MIB);
	unsigned char *data = malloc(MIB), *back = malloc(MIB);
	void *view;

	(void)state;
	scramble(data, MIB, 2);
	ok(neuron_buffer_map(buffer, &view));
	ok(neuron_buffer_write(buffer, 0, data, MIB));
	assert_memory_equal(view, data, MIB);
	scramble(view, MIB, 3);
	scramble(data, MIB, 3);
	ok(neuron_buffer_read(buffer, 0, back, MIB));
	assert_memory_equal(back, data, MIB);
	ok(neuron_buffer_unmap(buffer));
	free(data);
	free(back);
	neuron_buffer_destroy(buffer);
}

static void test_userptr(void **state)
{
	struct neuron_buffer *hbm = make(device, NEURON_HBM, MIB), *user;
	unsigned char *memory = malloc(MIB), *want = malloc(MIB);

	(void)state;
	scramble(memory, MIB, 4);
	memcpy(want, memory, MIB);
	ok(neuron_buffer_create_userptr(device, memory + 5, MIB - 5, 0, &user));
	assert_int_equal(neuron_buffer_get_size(user), MIB - 5);
	ok(neuron_buffer_copy(hbm, 0, user, 0, MIB - 5));
	memset(memory, 0, MIB);
	ok(neuron_buffer_copy(user, 10, hbm, 10, 1000));
	assert_int_equal(memory[14], 0);
	assert_memory_equal(memory + 15, want + 15, 1000);
	assert_int_equal(memory[1015], 0);
	assert_int_equal(neuron_buffer_copy(user, 0, hbm, 0, MIB), -EINVAL);
	neuron_buffer_destroy(user);
	assert_int_equal(neuron_buffer_create_userptr(device, (void *)4096, MIB, 0, &user),
			 -EFAULT);
	neuron_buffer_destroy(hbm);
	free(memory);
	free(want);
}

static void test_fill_patterns(void **state)
{
	struct neuron_buffer *buffer = make(device, NEURON_HBM, 2 * MIB);
	unsigned char *back = malloc(2 * MIB);
	uint64_t pattern = 0x0123456789abcdef, part;
	uint32_t size;
	size_t i;

	(void)state;
	for (size = 1; size <= 8; size *= 2) {
		part = size == 8 ? pattern : pattern & ((1ull << 8 * size) - 1);
		ok(neuron_buffer_fill(buffer, 0, 2 * MIB, 0, 8));
		ok(neuron_buffer_fill(buffer, 24, MIB + 40, part, size));
		ok(neuron_buffer_read(buffer, 0, back, 2 * MIB));
		for (i = 0; i < 2 * MIB; i++) {
			unsigned char want = 0;

			if (i >= 24 && i < 24 + MIB + 40)
				want = (unsigned char)(pattern >> (8 * ((i - 24) % size)));
			if (back[i] != want)
				fail_msg("pattern of %u bytes: byte %zu is %02x, not %02x", size, i,
					 back[i], want);
		}
	}
	free(back);
	neuron_buffer_destroy(buffer);
}

static void test_copies_between_all_stacks(void **state)
{
	struct neuron_device_info info = { .size = sizeof(info) };
	struct neuron_buffer *buffer[NEURON_MAX_STACKS];
	unsigned char *data = malloc(MIB), *back = malloc(MIB);
	uint32_t i, j;

	(void)state;
	ok(neuron_device_get_info(device, &info));
	for (i = 0; i < info.num_stacks; i++) {
		struct neuron_buffer_info b = { .size = sizeof(b) };

		buffer[i] = make_in(device, i, MIB);
		ok(neuron_buffer_get_info(buffer[i], &b));
		assert_int_equal(b.stack, i);
	}
	for (i = 0; i < info.num_stacks; i++)
		for (j = 0; j < info.num_stacks; j++) {
			if (i == j)
				continue;
			scramble(data, MIB, 100 + i * 16 + j);
			ok(neuron_buffer_write(buffer[i], 0, data, MIB));
			ok(neuron_buffer_copy(buffer[j], 3, buffer[i], 7, MIB - 7));
			ok(neuron_buffer_read(buffer[j], 3, back, MIB - 7));
			assert_memory_equal(data + 7, back, MIB - 7);
		}
	for (i = 0; i < info.num_stacks; i++)
		neuron_buffer_destroy(buffer[i]);
	free(data);
	free(back);
}

static void test_hbm_full_and_empty_again(void **state)
{
	struct neuron_memory_info memory = { .size = sizeof(memory) };
	struct neuron_buffer_options options = { .size = sizeof(options), .stack = 0 };
	struct neuron_buffer *buffer[64];
	unsigned int count = 0;
	uint64_t piece;

	(void)state;
	ok(neuron_device_get_memory(device, 0, &memory));
	piece = memory.largest_free / 3;
	while (count < 64 && !neuron_buffer_create(device, NEURON_HBM, piece, &options,
						   &buffer[count]))
		count++;
	assert_true(count >= 2 && count <= 4);
	assert_non_null(strstr(neuron_last_error(), "contiguous bytes in HBM stack 0"));
	assert_int_equal(neuron_buffer_create(device, NEURON_HBM, piece, &options,
					      &buffer[count]), -ENOSPC);
	/* Another stack still has room. */
	neuron_buffer_destroy(make_in(device, 1, MIB));
	while (count)
		neuron_buffer_destroy(buffer[--count]);
	neuron_buffer_destroy(make_in(device, 0, piece));
}

static void test_share_between_files(void **state)
{
	struct neuron_buffer *host = make(device, NEURON_HOST, MIB), *there, *again;
	struct neuron_buffer *hbm = make(device, NEURON_HBM, MIB), *hbm_there;
	struct neuron_device *other;
	char text[6] = "";
	int fd;

	(void)state;
	ok(neuron_device_open(0, &other));
	ok(neuron_buffer_export(host, &fd));
	ok(neuron_buffer_import(other, fd, &there));
	ok(neuron_buffer_import(device, fd, &again));
	close(fd);
	ok(neuron_buffer_export(hbm, &fd));
	ok(neuron_buffer_import(other, fd, &hbm_there));
	close(fd);
	ok(neuron_buffer_write(host, 100, "hello", 6));
	ok(neuron_buffer_copy(hbm_there, 0, there, 100, 6));
	ok(neuron_buffer_read(hbm, 0, text, 6));
	assert_string_equal(text, "hello");
	neuron_buffer_destroy(host);
	ok(neuron_buffer_read(again, 100, text, 6));
	assert_string_equal(text, "hello");
	neuron_buffer_destroy(again);
	neuron_buffer_destroy(there);
	neuron_buffer_destroy(hbm_there);
	neuron_buffer_destroy(hbm);
	neuron_device_close(other);
}

static void test_share_between_chips(void **state)
{
	struct neuron_buffer *host, *there;
	struct neuron_device *other;
	char text[6] = "";
	int fd;

	(void)state;
	ok(neuron_device_open(1, &other));
	host = make(device, NEURON_HOST, MIB);
	ok(neuron_buffer_export(host, &fd));
	if (neuron_buffer_import(other, fd, &there)) {
		/* A driver may not offer it; then it has to say so. */
		assert_non_null(strstr(neuron_last_error(), "EOPNOTSUPP"));
	} else {
		struct neuron_buffer *hbm = make(other, NEURON_HBM, MIB);

		ok(neuron_buffer_write(host, 0, "hello", 6));
		ok(neuron_buffer_copy(hbm, 0, there, 0, 6));
		ok(neuron_buffer_read(hbm, 0, text, 6));
		assert_string_equal(text, "hello");
		neuron_buffer_destroy(hbm);
		neuron_buffer_destroy(there);
	}
	close(fd);
	neuron_buffer_destroy(host);
	neuron_device_close(other);
}

static void test_no_descriptor_is_left(void **state)
{
	struct neuron_device *other;
	int before = dup(0), after, i;

	(void)state;
	close(before);
	for (i = 0; i < 20; i++) {
		struct neuron_buffer *buffer;

		ok(neuron_device_open(0, &other));
		ok(neuron_buffer_create(other, NEURON_HBM, MIB, NULL, &buffer));
		ok(neuron_buffer_write(buffer, 0, "x", 1));
		neuron_device_close(other);
		neuron_buffer_destroy(buffer);
	}
	after = dup(0);
	close(after);
	assert_int_equal(before, after);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_every_device_answers),
		TEST(test_new_buffers_are_zero),
		TEST(test_sizes_and_offsets),
		TEST(test_memory_of_all_kinds),
		TEST(test_ordinary_user_with_memlock_limit),
		TEST(test_map_shows_what_dma_wrote),
		TEST(test_userptr),
		TEST(test_fill_patterns),
		TEST(test_copies_between_all_stacks),
		TEST(test_hbm_full_and_empty_again),
		TEST(test_share_between_files),
		TEST(test_share_between_chips),
		TEST(test_no_descriptor_is_left),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("buffers", tests, NULL, NULL);
}

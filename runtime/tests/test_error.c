// SPDX-License-Identifier: MIT
/*
 * Error values, sentences, versions.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "mock.h"

static void test_text_of_every_error(void **state)
{
	static const int errors[] = { EINVAL, ENOENT, EACCES, EPERM, EFAULT, ENOSPC, ENOMEM, EDQUOT,
				      EIO, ECANCELED, ETIME, EBUSY, EXDEV, EOPNOTSUPP, ENODEV };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		assert_string_not_equal(neuron_strerror(-errors[i]),
					"unexpected error of the system");
		assert_string_equal(neuron_strerror(-errors[i]), neuron_strerror(errors[i]));
		assert_int_equal(neuron_error_name(-errors[i])[0], 'E');
		assert_string_not_equal(neuron_error_name(-errors[i]), "E?");
	}
	assert_string_equal(neuron_strerror(0), "success");
	assert_string_equal(neuron_error_name(-ENOSPC), "ENOSPC");
	assert_string_equal(neuron_error_name(-99999), "E?");
	assert_non_null(neuron_strerror(-99999));
}

static void *other_thread(void *arg)
{
	struct neuron_device *device;

	(void)arg;
	assert_string_equal(neuron_last_error(), "");
	assert_int_equal(neuron_device_open(77, &device), -ENODEV);
	assert_sentence("device 77 does not exist: there are 2");
	return NULL;
}

static void test_sentence_is_per_thread(void **state)
{
	struct neuron_device *device;
	pthread_t thread;

	(void)state;
	assert_int_equal(neuron_device_open(5, &device), -ENODEV);
	pthread_create(&thread, NULL, other_thread, NULL);
	pthread_join(thread, NULL);
	assert_sentence("device 5 does not exist");
}

static void test_long_sentence_is_cut(void **state)
{
	struct neuron_device *device;
	char name[4096];

	(void)state;
	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	assert_int_equal(neuron_device_open_name(name, &device), -EINVAL);
	assert_true(strlen(neuron_last_error()) < 320);
	name[0] = '/';
	assert_int_equal(neuron_device_open_name(name, &device), -ENAMETOOLONG);
	assert_true(strlen(neuron_last_error()) < 320);
}

static void test_version(void **state)
{
	(void)state;
	assert_string_equal(neuron_version_string(), PROJECT_VERSION);
	assert_int_equal(neuron_version(), NEURON_VERSION);
	assert_true(NEURON_VERSION > NEURON_VERSION_ENCODE(0, 0, 255));
}

static void test_reasons(void **state)
{
	uint32_t i;

	(void)state;
	for (i = 0; i <= NEURON_REASON_CLOSED; i++)
		assert_string_not_equal(neuron_reason_string(i), "unknown reason");
	assert_string_equal(neuron_reason_string(1000), "unknown reason");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text_of_every_error),
		cmocka_unit_test_setup_teardown(test_sentence_is_per_thread, mock_setup,
						mock_teardown),
		cmocka_unit_test_setup_teardown(test_long_sentence_is_cut, mock_setup,
						mock_teardown),
		cmocka_unit_test(test_version),
		cmocka_unit_test(test_reasons),
	};

	return cmocka_run_group_tests_name("error", tests, NULL, NULL);
}

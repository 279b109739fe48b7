/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_config.c - configurations of programs that were compiled with an older or a newer offload.h.
 * There need be no device.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "kernels/opencl/opencl.h"
#include "kernels/backend/config.h"

#define NO_LIBRARY "/nowhere/libOpenCL.so.1"

/* What a later version may have. */
struct newer {
	struct qv_offload_config known;
	uint64_t more;
};

static int read(const struct qv_offload_config *config, struct qv_offload_config *c)
{
	char why[80] = "";
	const int rc = qv_config_read(config, c, why, sizeof(why));

	assert_int_equal(rc != QV_OK, why[0] != 0);
	assert_int_equal(qv_config_read(config, c, NULL, 0), rc);
	return rc;
}

static void test_sizes(void **state)
{
	struct newer n = {.known = {.library = "a", .timeout_ms = 7, .profile = 1}};
	struct qv_offload_config c;

	assert_int_equal(read(&n.known, &c), QV_OK); /* no size: all of it */
	assert_string_equal(c.library, "a");
	assert_int_equal(c.timeout_ms, 7);
	assert_int_equal(c.profile, 1);
	n.known.size = offsetof(struct qv_offload_config, profile);
	assert_int_equal(read(&n.known, &c), QV_OK);
	assert_int_equal(c.timeout_ms, 7);
	assert_int_equal(c.profile, 0);
	n.known.size = sizeof(n);
	assert_int_equal(read(&n.known, &c), QV_OK);
	assert_int_equal(c.profile, 1);
	assert_int_equal(c.size, sizeof(c));
	n.more = 1;
	assert_int_equal(read(&n.known, &c), QV_EINVAL);
	n.known.size = 1;
	assert_int_equal(read(&n.known, &c), QV_EINVAL);
	n.known.size = SIZE_MAX;
	assert_int_equal(read(&n.known, &c), QV_EINVAL);
}

/* The backend reads what it is given in that way, both times. */
static void test_backend(void **state)
{
	struct newer n = {.known = {.size = sizeof(n), .library = NO_LIBRARY}};
	struct qv_offload_caps caps;
	struct qv_offload_dev *dev = NULL;
	char why[200] = "";

	assert_int_equal(qv_opencl_ops.probe(&n.known, &caps, why, sizeof(why)), QV_ENOENT);
	assert_non_null(strstr(why, NO_LIBRARY));
	assert_int_equal(qv_opencl_ops.open(&n.known, &dev, why, sizeof(why)), QV_ENOENT);
	n.more = 1;
	assert_int_equal(qv_opencl_ops.probe(&n.known, &caps, why, sizeof(why)), QV_EINVAL);
	assert_non_null(strstr(why, "fields"));
	assert_int_equal(qv_opencl_ops.open(&n.known, &dev, NULL, 0), QV_EINVAL);
	assert_null(dev);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_backend),
	};

	return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}

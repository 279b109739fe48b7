/* SPDX-License-Identifier: BSD-2-Clause */
/* not_called.h - stands for a function of the provider that a part of it names, and a test must not reach. After
 * cmocka.h. */
#ifndef QV_FABRIC_NOT_CALLED_H
#define QV_FABRIC_NOT_CALLED_H

#define NOT_CALLED(type, name, ...)    \
	type name(__VA_ARGS__)         \
	{                              \
		fail_msg("%s", #name); \
		return (type)0;        \
	}

#endif /* QV_FABRIC_NOT_CALLED_H */

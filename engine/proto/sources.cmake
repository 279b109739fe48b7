set(qv_proto_sources)

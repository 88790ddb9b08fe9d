package stream

const childEnv = "ASSENT_STREAM_TEST_CHILD"

func appendUntilKilled() {}

package rabbit

import "time"

// Hasten makes answers be waited for no longer than that.
func (c *Config) Hasten(wait time.Duration) { c.timeouts = timeouts{wait, wait} }

// Hasten makes answers be waited for no longer than that.
func (c *ConsumerConfig) Hasten(wait time.Duration) { c.timeouts = timeouts{wait, wait} }

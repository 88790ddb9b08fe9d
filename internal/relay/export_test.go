package relay

// Brokers says who is connected, and how many connections are relayed to each.
func (s *Server) Brokers() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := map[string]int{}
	for name, b := range s.brokers {
		if b.session != nil {
			all[name] = b.open
		}
	}
	return all
}

// len is how many are in.
func (g *gate) len() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.line.Len()
}

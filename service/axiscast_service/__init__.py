"""axiscast's service: every framework's broadcasting rule lowered to one plan, answered over HTTP.

request -> schema -> ops lower() -> Plan -> limits -> engine -> schema -> answer
"""
